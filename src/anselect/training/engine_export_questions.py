"""The parts of a BERT graph that reads each question once, without its candidates (`question_first.py`).

One file serves two calls, and stores every weight once. The first gives questions and no candidates, and takes their
states: keys and values of each lower layer, and what comes out of the last one. The second gives candidates and the
states of their questions, and takes logits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anselect.engine.session import CANDIDATES, MEMORY, OUTPUT, OWNERS, QUESTIONS, STATES
from anselect.training.engine_export_graph import FLOAT, INT64, Graph, Shaped
from anselect.training.engine_export_layers import BertParts, Layer, Products, embed
from anselect.training.engine_export_rounding import ChannelLimits

Upper = Callable[[Products, str], str]
"""From (rows, tokens, width) behind the lower layers to a logit for each row."""


def build_question_first(parts: BertParts, limits: Mapping[str, ChannelLimits] | None, upper: Upper) -> bytes:
    """Return the bytes of the model file."""
    graph = Graph()
    asked, answered = (Products(graph.branch(name), parts.weights, limits) for name in ("question_", "candidate_"))
    width = (2 * parts.question_layers + 1) * len(parts.weights[f"{parts.prefix}embeddings.LayerNorm.weight"])
    states = _read_questions(parts, asked)
    logits = upper(answered, _read_candidates(parts, answered))
    no_states = answered.graph.add("Identity", graph.constant(np.zeros((0, 1, width), dtype=np.float32)))
    no_logits = asked.graph.add("Identity", graph.constant(np.zeros(0, dtype=np.float32)))
    rows = graph.add("Slice", graph.add("Shape", CANDIDATES), graph.numbers(0), graph.numbers(1))
    outputs: dict[str, Sequence[str | int]] = {OUTPUT: ["rows"], STATES: ["questions", "question_tokens", width]}
    branches = [(asked.graph, [no_logits, states]), (answered.graph, [logits, no_states])]
    graph.either(graph.add("Equal", rows, graph.numbers(0)), branches, outputs)
    inputs: dict[str, Shaped] = {
        QUESTIONS: (INT64, ["questions", "question_tokens"]),
        CANDIDATES: (INT64, ["rows", "tokens"]),
        OWNERS: (INT64, ["rows"]),
        MEMORY: (FLOAT, ["known", "known_tokens", width]),
    }
    return graph.serialize("anselect_engine", inputs, outputs)


def _read_questions(parts: BertParts, products: Products) -> str:
    graph = products.graph
    hidden = embed(products, parts, QUESTIONS, graph.numbers(0), graph.numbers(0))
    states: list[str] = []
    for layer in _lower(parts, products):
        query, key, value = graph.split(layer.project(hidden), 3)
        states += [key, value]
        hidden = layer.behind_attention(hidden, layer.attend(query, key, value))
    return graph.add("Concat", *states, hidden, axis=2)


def _read_candidates(parts: BertParts, products: Products) -> str:
    """Return (rows, tokens of both sides, width) behind the lower layers."""
    graph = products.graph
    known = [graph.add("Gather", each, OWNERS, axis=0) for each in graph.split(MEMORY, 2 * parts.question_layers + 1)]
    beyond = graph.add("Slice", graph.add("Shape", MEMORY), graph.numbers(1), graph.numbers(2))
    hidden = embed(products, parts, CANDIDATES, graph.numbers(1), beyond)
    for number, layer in enumerate(_lower(parts, products)):
        query, *own = graph.split(layer.project(hidden), 3)
        pairs = zip(known[2 * number :], own, strict=False)
        key, value = (graph.add("Concat", *both, axis=1) for both in pairs)
        hidden = layer.behind_attention(hidden, layer.attend(query, key, value))
    return graph.add("Concat", known[-1], hidden, axis=1)


def _lower(parts: BertParts, products: Products) -> list[Layer]:
    return [Layer(parts, products, number) for number in range(parts.question_layers)]
