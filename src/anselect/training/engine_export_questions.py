"""The lower layers of a BERT graph that reads each question once, without its candidates (`question_first.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anselect.engine.session import CANDIDATES, MEMORY, OWNERS, QUESTIONS, STATES
from anselect.training.engine_export_graph import FLOAT, INT64, Graph, Shaped
from anselect.training.engine_export_layers import BertParts, Layer, embed, place_table


class QuestionFirst:
    """The lower layers of a model that reads questions without their candidates: flat tokens, attention by sides.

    One graph serves two calls. The first gives questions and no candidates, and takes their states: keys and values of
    each lower layer and what comes out of the last one. The second gives candidates and the states of their questions.
    """

    def __init__(self, graph: Graph, parts: BertParts, *, is_rounded: bool) -> None:
        self._graph = graph
        self._parts = parts
        self._is_rounded = is_rounded
        self._width = len(parts.weights[f"{parts.prefix}embeddings.LayerNorm.weight"])
        self._shapes = [graph.add("Shape", name) for name in (QUESTIONS, CANDIDATES)]
        counts = [graph.add("ReduceProd", shape, graph.numbers(0), keepdims=1) for shape in self._shapes]
        self._sizes = graph.add("Concat", *counts, axis=0)

    def inputs(self) -> dict[str, Shaped]:
        """Name the graph's inputs."""
        states: list[str | int] = ["known", "known_tokens", self._state_width]
        return {
            QUESTIONS: (INT64, ["questions", "question_tokens"]),
            CANDIDATES: (INT64, ["rows", "tokens"]),
            OWNERS: (INT64, ["rows"]),
            MEMORY: (FLOAT, states),
        }

    def outputs(self) -> dict[str, Sequence[str | int]]:
        """Name what the graph gives beside the logits."""
        return {STATES: ["questions", "question_tokens", self._state_width]}

    def build(self, layers: Sequence[Layer]) -> str:
        """Return (rows, tokens of both sides, width) behind the lower layers."""
        graph = self._graph
        remembered = graph.split(MEMORY, 2 * len(layers) + 1)
        flat = self._embed()
        states: list[str] = []
        for number, layer in enumerate(layers):
            asked, answered = (graph.split(part, 3) for part in self._sides(layer.project(flat)))
            states += asked[1:]
            known = [graph.add("Gather", each, OWNERS, axis=0) for each in remembered[2 * number : 2 * number + 2]]
            key, value = (graph.add("Concat", *both, axis=1) for both in zip(known, answered[1:], strict=True))
            reads = [layer.attend(*asked), layer.attend(answered[0], key, value)]
            flat = layer.behind_attention(flat, self._flat(reads))
        question, candidate = self._sides(flat)
        graph.add("Concat", *states, question, axis=2)
        graph.name_last(STATES)
        known_question = graph.add("Gather", remembered[-1], OWNERS, axis=0)
        return graph.add("Concat", known_question, candidate, axis=1)

    @property
    def _state_width(self) -> int:
        return (2 * self._parts.question_layers + 1) * self._width

    def _embed(self) -> str:
        """Return the embeddings of the questions' tokens and, behind them, of the candidates'."""
        graph = self._graph
        nothing, beyond = graph.numbers(0), graph.add("Slice", graph.add("Shape", MEMORY), *map(graph.numbers, (1, 2)))
        segments, places = [], []
        for side, shape in enumerate(self._shapes):
            length = graph.add("Slice", shape, graph.numbers(1), graph.numbers(2))
            segments.append(graph.add("Expand", graph.numbers(side), shape))
            first = beyond if side else nothing
            bounds = [graph.add("Squeeze", each, graph.numbers(0)) for each in (first, graph.add("Add", first, length))]
            row = graph.add("Range", *bounds, graph.constant(np.array(1, dtype=np.int64)))
            places.append(graph.add("Expand", row, shape))
        ids, segments_of, places_of = (
            graph.add("Concat", *(graph.add("Reshape", side, graph.numbers(-1)) for side in sides), axis=0)
            for sides in ((QUESTIONS, CANDIDATES), segments, places)
        )
        at_places = graph.add("Gather", graph.constant(place_table(self._parts)), places_of)
        return embed(graph, self._parts, ids, segments_of, at_places, is_rounded=self._is_rounded)

    def _sides(self, flat: str) -> list[str]:
        """Cut flat tokens (tokens, n) into (questions, tokens, n) and (rows, tokens, n)."""
        graph, sides = self._graph, []
        for part, shape in zip(self._graph.split_rows(flat, self._sizes), self._shapes, strict=True):
            width = graph.add("Slice", graph.add("Shape", part), graph.numbers(1), graph.numbers(2))
            sides.append(graph.add("Reshape", part, graph.add("Concat", shape, width, axis=0), allowzero=1))
        return sides

    def _flat(self, sides: Sequence[str]) -> str:
        graph = self._graph
        flat = (graph.add("Reshape", side, graph.numbers(-1, self._width)) for side in sides)
        return graph.add("Concat", *flat, axis=0)
