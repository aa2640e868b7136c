"""A BERT cross-encoder in, the bytes of an ONNX model out: ids and segments of unpadded pairs to one logit each.

Written by hand because a traced graph wastes work: here query, key and value are one product, the last layer computes
the class token only (where the pooling reads no other), no mask is applied where nothing is padded, and 8-bit products
have fixed ranges. Add and LayerNormalization stay apart: onnxruntime's SkipLayerNormalization is slower than both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from anselect.engine.session import OUTPUT
from anselect.modeling.heads import COSINE_SCALE
from anselect.training.engine_export_graph import MICROSOFT, ChannelLimits, Floats, Graph, round_weights

INT64: Final = 7
BOOL: Final = 9
"""ONNX's numbers for the types."""
MASKS: Final = ("question_mask", "candidate_mask")


@dataclass(frozen=True, slots=True)
class HeadLayer:
    """One linear layer behind the pooled vector."""

    name: str
    """Of its module, under which weights and ranges are found."""
    activation: str = ""
    """The ONNX operator behind it; empty for none."""


@dataclass(frozen=True, slots=True)
class BertParts:
    """What the graph is made from."""

    prefix: str
    """Of the encoder among the weights' names."""
    weights: Mapping[str, Floats]
    layers: int
    heads: int
    epsilon: float
    max_tokens: int
    mean: bool
    """Whether all tokens are pooled, not the class token alone."""
    head: tuple[HeadLayer, ...]
    match: bool = False
    """Whether the head also reads how both sides agree (`heads.MatchHead`); for the mean of all tokens only."""
    exit: ExitGate | None = None


@dataclass(frozen=True, slots=True)
class ExitGate:
    """Where rows leave the graph early."""

    layer: int
    """Behind so many layers a first guess is made."""
    head: tuple[HeadLayer, ...]
    """The layers that make it, of the same kind as those behind all layers."""
    below: float
    """Rows whose guess lies below go no further."""


def build_bert(parts: BertParts, limits: Mapping[str, ChannelLimits] | None) -> bytes:
    """Build the model file: 8-bit products with the given ranges by module name, or all in 32 bits without them."""
    graph = Graph()
    products = _Products(graph, parts.weights, limits)
    hidden = _embeddings(graph, parts, is_rounded=limits is not None)
    gate = None
    masks: Sequence[str] = MASKS if parts.match else ()
    for layer in range(parts.layers):
        if parts.exit is not None and layer == parts.exit.layer:
            guesses = _logit(products, parts, parts.exit.head, hidden, _mean(graph, hidden), masks)
            gate = _Gate(guesses, _rows_at_least(graph, guesses, parts.exit.below))
            hidden, *masks = (graph.add("Gather", each, gate.rows, axis=0) for each in (hidden, *masks))
        first_only = layer == parts.layers - 1 and not parts.mean
        hidden = _Layer(parts, products, f"{parts.prefix}encoder.layer.{layer}.").build(hidden, first_only=first_only)
    pooled = _mean(graph, hidden) if parts.mean else _first(graph, hidden)
    logits = _logit(products, parts, parts.head, hidden, pooled, masks)
    if gate is not None:
        logits = graph.add("ScatterElements", gate.guesses, gate.rows, logits)
    graph.name_last(OUTPUT)
    inputs = {"ids": INT64, "segments": INT64} | (dict.fromkeys(MASKS, BOOL) if parts.match else {})
    return graph.serialize("anselect_engine", inputs, OUTPUT, ["rows"])


@dataclass(frozen=True, slots=True)
class _Gate:
    """Names of what an exit computed."""

    guesses: str
    """One for each row."""
    rows: str
    """Which ones go on; there may be none."""


def _rows_at_least(graph: Graph, guesses: str, below: float) -> str:
    hopeful = graph.add("GreaterOrEqual", guesses, _scalar(graph, below))
    return graph.add("Squeeze", graph.add("NonZero", hopeful), graph.numbers(0))


@dataclass(frozen=True, slots=True)
class _Products:
    """Products with named weights, in 8 bits where there are ranges."""

    graph: Graph
    weights: Mapping[str, Floats]
    limits: Mapping[str, ChannelLimits] | None

    def dense(self, hidden: str, *names: str, single: bool = False) -> str:
        """Multiply once for all the named weights: they read the same activations.

        `single` says that there may be one row only: 32-bit products take another way for one row than for several,
        so that such a product is all in 8 bits.
        """
        weight = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        if self.limits is not None:
            limits = self.limits[names[0]]
            if single:
                return self.graph.dense(hidden, weight, bias, limits.range())
            return self.graph.mixed_dense(hidden, weight, bias, limits)
        product = self.graph.add("MatMul", hidden, self.graph.constant(weight))
        return self.graph.add("Add", product, self.graph.constant(bias))


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer's part of the graph."""

    parts: BertParts
    products: _Products
    prefix: str

    def build(self, hidden: str, *, first_only: bool) -> str:
        graph, own = self.products.graph, f"{self.prefix}attention.self."
        names = [f"{own}{name}" for name in ("query", "key", "value")]
        if first_only:
            asked = graph.add("Slice", hidden, graph.numbers(0), graph.numbers(1), graph.numbers(1))
            query = self.products.dense(asked, names[0], single=True)
            key, value = graph.split(self.products.dense(hidden, *names[1:]), 2)
        else:
            asked = hidden
            query, key, value = graph.split(self.products.dense(hidden, *names), 3)
        read = graph.add("MultiHeadAttention", query, key, value, domain=MICROSOFT, num_heads=self.parts.heads)
        change = self.products.dense(read, f"{self.prefix}attention.output.dense", single=first_only)
        attended = self._add(asked, change, "attention.")
        inner = self.products.dense(attended, f"{self.prefix}intermediate.dense", single=first_only)
        change = self.products.dense(graph.add("Gelu", inner), f"{self.prefix}output.dense", single=first_only)
        return self._add(attended, change, "")

    def _add(self, hidden: str, change: str, where: str) -> str:
        graph, name = self.products.graph, f"{self.prefix}{where}output.LayerNorm"
        weight, bias = self.parts.weights[f"{name}.weight"], self.parts.weights[f"{name}.bias"]
        return graph.norm(graph.add("Add", hidden, change), weight, bias, epsilon=self.parts.epsilon)


def _embeddings(graph: Graph, parts: BertParts, *, is_rounded: bool) -> str:
    own = {
        name.removeprefix(f"{parts.prefix}embeddings."): value
        for name, value in parts.weights.items()
        if name.startswith(f"{parts.prefix}embeddings.")
    }
    words = _look_up(graph, own["word_embeddings.weight"], "ids", is_rounded=is_rounded)
    segments = graph.add("Gather", graph.constant(own["token_type_embeddings.weight"]), "segments")
    length = graph.add("Slice", graph.add("Shape", "ids"), graph.numbers(1), graph.numbers(2))
    places = graph.constant(own["position_embeddings.weight"][: parts.max_tokens])
    places = graph.add("Slice", places, graph.numbers(0), length, graph.numbers(0))
    summed = graph.add("Add", graph.add("Add", words, segments), places)
    return graph.norm(summed, own["LayerNorm.weight"], own["LayerNorm.bias"], epsilon=parts.epsilon)


def _look_up(graph: Graph, table: Floats, ids: str, *, is_rounded: bool) -> str:
    if not is_rounded:
        return graph.add("Gather", graph.constant(table), ids)
    rounded, scale = round_weights(table, axis=1)
    rows = graph.add("Cast", graph.add("Gather", graph.constant(rounded), ids), to=1)
    return graph.add("Mul", rows, graph.add("Gather", graph.constant(scale), ids))


def _first(graph: Graph, hidden: str) -> str:
    return graph.add("Squeeze", hidden, graph.numbers(1))


def _mean(graph: Graph, hidden: str) -> str:
    # Over the last axis: over the middle one, one row is added up in another order than several are.
    return graph.add("ReduceMean", graph.add("Transpose", hidden, perm=[0, 2, 1]), graph.numbers(2), keepdims=0)


def _logit(
    products: _Products, parts: BertParts, head: Sequence[HeadLayer], hidden: str, pooled: str, masks: Sequence[str]
) -> str:
    """Return a head's logit for each row."""
    if parts.match:
        return _match_logit(products.graph, parts, head[-1].name, hidden, pooled, masks)
    for layer in head[:-1]:
        pooled = products.graph.add(layer.activation, products.dense(pooled, layer.name, single=True))
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


def named_weights(module: Any) -> dict[str, Floats]:  # noqa: ANN401 - a torch module
    """Return the arrays of a module by name, in 32 bits."""
    return {name: value.detach().float().cpu().numpy() for name, value in module.state_dict().items()}
