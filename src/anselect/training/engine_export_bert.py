"""A BERT cross-encoder in, the bytes of an ONNX model out: ids and segments of unpadded pairs to one logit each.

Written by hand because a traced graph wastes work: here query, key and value are one product, the last layer computes
the class token only (where the pooling reads no other), no mask is applied where nothing is padded, and 8-bit products
have fixed ranges. Add and LayerNormalization stay apart: onnxruntime's SkipLayerNormalization is slower than both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from anselect.engine.session import OUTPUT
from anselect.modeling.heads import COSINE_SCALE
from anselect.training.engine_export_graph import BOOL, INT64, Graph
from anselect.training.engine_export_layers import (
    BertParts,
    ExitGate,
    HeadLayer,
    Layer,
    Products,
    across_sides,
    embed,
)
from anselect.training.engine_export_questions import build_question_first
from anselect.training.engine_export_rounding import ChannelLimits, Floats

MASKS: Final = ("question_mask", "candidate_mask")


def build_bert(parts: BertParts, limits: Mapping[str, ChannelLimits] | None) -> bytes:
    """Build the model file: 8-bit products with the given ranges by module name, or all in 32 bits without them."""
    if parts.question_layers:
        return build_question_first(parts, limits, lambda products, hidden: _upper_layers(parts, products, hidden))
    graph = Graph()
    products = Products(graph, parts.weights, limits)
    _upper_layers(parts, products, embed(products, parts, "ids", "segments", graph.numbers(0)))
    graph.name_last(OUTPUT)
    inputs = {"ids": INT64, "segments": INT64} | (dict.fromkeys(MASKS, BOOL) if parts.match else {})
    pairs = {name: (kind, ["rows", "tokens"]) for name, kind in inputs.items()}
    return graph.serialize("anselect_engine", pairs, {OUTPUT: ["rows"]})


def _upper_layers(parts: BertParts, products: Products, hidden: str) -> str:
    """Return a logit for each row of (rows, tokens, width), through all layers that questions are not read alone in."""
    graph, gate = products.graph, None
    masks: Sequence[str] = MASKS if parts.match else ()
    across = "" if parts.lowered is None else across_sides(graph, "segments")
    for number in range(parts.question_layers, parts.layers):
        if parts.exit is not None and number == parts.exit.layer:
            guesses = _logit(products, parts, parts.exit.head, hidden, _mean(graph, hidden), masks)
            gate = _Gate(guesses, _rows_that_stay(graph, guesses, hidden, parts.exit))
            hidden, *masks = (graph.add("Gather", each, gate.rows, axis=0) for each in (hidden, *masks))
            across = across and graph.add("Gather", across, gate.rows, axis=0)
        first_only = number == parts.layers - 1 and not parts.mean
        hidden = Layer(parts, products, number).build(hidden, first_only=first_only, across=across)
    pooled = _mean(graph, hidden) if parts.mean else _first(graph, hidden)
    logits = _logit(products, parts, parts.head, hidden, pooled, masks)
    return logits if gate is None else graph.add("ScatterElements", gate.guesses, gate.rows, logits)


@dataclass(frozen=True, slots=True)
class _Gate:
    """Names of what an exit computed."""

    guesses: str
    """One for each row."""
    rows: str
    """Which ones go on; there may be none."""


def _rows_that_stay(graph: Graph, guesses: str, hidden: str, gate: ExitGate) -> str:
    hopeful = graph.add("GreaterOrEqual", guesses, _scalar(graph, gate.below))
    if gate.tokens:
        length = graph.add("Slice", graph.add("Shape", hidden), graph.numbers(1), graph.numbers(2))
        hopeful = graph.add("Or", hopeful, graph.add("Greater", length, graph.numbers(gate.tokens)))
    return graph.add("Squeeze", graph.add("NonZero", hopeful), graph.numbers(0))


def _first(graph: Graph, hidden: str) -> str:
    return graph.add("Squeeze", hidden, graph.numbers(1))


def _mean(graph: Graph, hidden: str) -> str:
    # Over the last axis: over the middle one, one row is added up in another order than several are.
    return graph.add("ReduceMean", graph.add("Transpose", hidden, perm=[0, 2, 1]), graph.numbers(2), keepdims=0)


def _logit(
    products: Products, parts: BertParts, head: Sequence[HeadLayer], hidden: str, pooled: str, masks: Sequence[str]
) -> str:
    """Return a head's logit for each row."""
    if parts.match:
        return _match_logit(products.graph, parts, head[-1].name, hidden, pooled, masks)
    for layer in head[:-1]:
        pooled = products.graph.add(layer.activation, products.dense(pooled, layer.name))
    return _folded_logit(products.graph, parts, head[-1].name, pooled)


def _folded_logit(graph: Graph, parts: BertParts, name: str, pooled: str) -> str:
    weight, bias = fold(parts.weights[f"{name}.weight"], parts.weights[f"{name}.bias"])
    # A sum over each row by itself; a product of matrices takes another way for one row than for several.
    terms = graph.add("Mul", pooled, graph.constant(weight))
    return graph.add("Add", graph.add("ReduceSum", terms, graph.numbers(1), keepdims=0), graph.constant(bias))


def _match_logit(graph: Graph, parts: BertParts, name: str, hidden: str, pooled: str, masks: Sequence[str]) -> str:
    question, candidate = (_side(graph, hidden, mask) for mask in masks)
    agreed = graph.add("Mul", question, candidate)
    apart = graph.add("Abs", graph.add("Sub", question, candidate))
    width = len(parts.weights[f"{parts.prefix}embeddings.LayerNorm.weight"])
    scaled = [graph.add("Mul", agreed, _scalar(graph, width)), graph.add("Mul", apart, _scalar(graph, width**0.5))]
    learnt = _folded_logit(graph, parts, name, graph.add("Concat", pooled, *scaled, axis=1))
    cosine = graph.add("ReduceSum", agreed, graph.numbers(1), keepdims=0)
    return graph.add("Add", learnt, graph.add("Mul", cosine, _scalar(graph, COSINE_SCALE)))


def _side(graph: Graph, hidden: str, mask: str) -> str:
    """Return the sum of one side's tokens, brought to length 1; a side without tokens stays 0."""
    kept = graph.add("Mul", hidden, graph.add("Unsqueeze", graph.add("Cast", mask, to=1), graph.numbers(2)))
    turned = graph.add("Transpose", kept, perm=[0, 2, 1])  # as in _mean
    summed = graph.add("ReduceSum", turned, graph.numbers(2), keepdims=0)
    squares = graph.add("ReduceSum", graph.add("Mul", summed, summed), graph.numbers(1), keepdims=1)
    length = graph.add("Max", graph.add("Sqrt", squares), _scalar(graph, 1e-12))
    return graph.add("Div", summed, length)


def _scalar(graph: Graph, value: float) -> str:
    return graph.constant(np.array(value, dtype=np.float32))


def fold(weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Fold the weights of one or two classes into one row: softmax(l)₁ is sigmoid(l₁ - l₀).

    Example:
        >>> fold(np.array([[1.0, 2.0], [4.0, 4.0]], np.float32), np.array([0.5, 1.0], np.float32))
        (array([3., 2.], dtype=float32), array([0.5], dtype=float32))
    """
    return (weight[1] - weight[0], bias[1:] - bias[:1]) if len(weight) == 2 else (weight[0], bias)
