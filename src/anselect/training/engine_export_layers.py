"""Parts of a BERT graph: what it is made from, its products, layers and embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anselect.training.engine_export_graph import MICROSOFT, Graph, round_weights
from anselect.training.engine_export_rounding import ChannelLimits, Floats, plan_rounding


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
    question_layers: int = 0
    """In so many layers questions are read without their candidates, once for all of them."""
    lowered: Floats | None = None
    """Where both sides have places of their own: what is taken from attention between them (layers, heads)."""


@dataclass(frozen=True, slots=True)
class ExitGate:
    """Where rows leave the graph early."""

    layer: int
    """Behind so many layers a first guess is made."""
    head: tuple[HeadLayer, ...]
    """The layers that make it, of the same kind as those behind all layers."""
    below: float
    """Rows whose guess lies below go no further."""
    tokens: int = 0
    """Only rows of at most so many tokens leave; 0: any."""


@dataclass(frozen=True, slots=True)
class Products:
    """Products with named weights, in 8 bits where there are ranges."""

    graph: Graph
    weights: Mapping[str, Floats]
    limits: Mapping[str, ChannelLimits] | None

    def dense(self, hidden: str, *names: str) -> str:
        """Multiply once for all the named weights: they read the same activations."""
        weight = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        if self.limits is not None:
            return self.graph.dense(hidden, weight, bias, plan_rounding(self.limits[names[0]]))
        product = self.graph.add("MatMul", hidden, self.graph.constant(weight))
        return self.graph.add("Add", product, self.graph.constant(bias))


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's part of the graph."""

    parts: BertParts
    products: Products
    number: int

    @property
    def prefix(self) -> str:
        """How the names of its weights begin."""
        return f"{self.parts.prefix}encoder.layer.{self.number}."

    def build(self, hidden: str, *, first_only: bool, across: str = "") -> str:
        """Return the layer's output (rows, tokens, width), of the first token alone where no other is read.

        `across` is 1 where a token and the one it reads are of different sides (rows, 1, tokens, tokens).
        """
        graph = self.products.graph
        if first_only:
            asked = graph.add("Slice", hidden, graph.numbers(0), graph.numbers(1), graph.numbers(1))
            query = self.products.dense(asked, self._names[0])
            key, value = graph.split(self.products.dense(hidden, *self._names[1:]), 2)
        else:
            asked = hidden
            query, key, value = graph.split(self.project(hidden), 3)
        return self.behind_attention(asked, self.attend(query, key, value, across))

    @property
    def _names(self) -> list[str]:
        return [f"{self.prefix}attention.self.{name}" for name in ("query", "key", "value")]

    def project(self, hidden: str) -> str:
        """Return query, key and value of each token, side by side."""
        return self.products.dense(hidden, *self._names)

    def attend(self, query: str, key: str, value: str, across: str = "") -> str:
        """Let each token of (rows, tokens, width) read the others of its row."""
        graph, inputs = self.products.graph, [query, key, value]
        if across and self.parts.lowered is not None:
            taken = graph.constant(-self.parts.lowered[self.number].reshape(1, -1, 1, 1))
            inputs += ["", "", graph.add("Mul", across, taken)]
        return graph.add("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self.parts.heads)

    def behind_attention(self, asked: str, read: str) -> str:
        """Return the layer's output for tokens and what they have read; any number of axes before the last."""
        change = self.products.dense(read, f"{self.prefix}attention.output.dense")
        attended = self._add(asked, change, "attention.")
        inner = self.products.dense(attended, f"{self.prefix}intermediate.dense")
        change = self.products.dense(self.products.graph.add("Gelu", inner), f"{self.prefix}output.dense")
        return self._add(attended, change, "")

    def _add(self, hidden: str, change: str, where: str) -> str:
        graph, name = self.products.graph, f"{self.prefix}{where}output.LayerNorm"
        weight, bias = self.parts.weights[f"{name}.weight"], self.parts.weights[f"{name}.bias"]
        return graph.norm(graph.add("Add", hidden, change), weight, bias, epsilon=self.parts.epsilon)


def embed(products: Products, parts: BertParts, ids: str, segments: str, first: str) -> str:
    """Return the embeddings (rows, tokens, width) of tokens with their segments; the first stands at place `first`."""
    graph = products.graph
    own = {
        name.removeprefix(f"{parts.prefix}embeddings."): value
        for name, value in parts.weights.items()
        if name.startswith(f"{parts.prefix}embeddings.")
    }
    words = _look_up(graph, own["word_embeddings.weight"], ids, is_rounded=products.limits is not None)
    table = own["position_embeddings.weight"][: parts.max_tokens]
    if parts.lowered is not None:
        # Both sides are of the first segment.
        places = graph.add(
            "Gather", graph.constant(table + own["token_type_embeddings.weight"][0]), own_places(graph, segments)
        )
        summed = graph.add("Add", words, places)
        return graph.norm(summed, own["LayerNorm.weight"], own["LayerNorm.bias"], epsilon=parts.epsilon)
    of_segments = graph.add("Gather", graph.constant(own["token_type_embeddings.weight"]), segments)
    length = graph.add("Slice", graph.add("Shape", ids), graph.numbers(1), graph.numbers(2))
    places = graph.add("Slice", graph.constant(table), first, graph.add("Add", first, length), graph.numbers(0))
    summed = graph.add("Add", graph.add("Add", words, of_segments), places)
    return graph.norm(summed, own["LayerNorm.weight"], own["LayerNorm.bias"], epsilon=parts.epsilon)


def own_places(graph: Graph, sides: str) -> str:
    """Return each token's place on its own side (rows, tokens), of unpadded rows of sides 0 and then 1."""
    tokens = graph.add("Squeeze", graph.add("Slice", graph.add("Shape", sides), graph.numbers(1), graph.numbers(2)))
    zero, one = (graph.constant(np.array(each, dtype=np.int64)) for each in (0, 1))
    asked = graph.add("Sub", tokens, graph.add("ReduceSum", sides, graph.numbers(1), keepdims=1))
    return graph.add("Sub", graph.add("Range", zero, tokens, one), graph.add("Mul", sides, asked))


def across_sides(graph: Graph, sides: str) -> str:
    """Return 1 where two tokens are of different sides, 0 elsewhere (rows, 1, tokens, tokens)."""
    rows, columns = (graph.add("Unsqueeze", sides, graph.numbers(*axes)) for axes in ((1, 3), (1, 2)))
    return graph.add("Cast", graph.add("Not", graph.add("Equal", rows, columns)), to=1)


def _look_up(graph: Graph, table: Floats, ids: str, *, is_rounded: bool) -> str:
    if not is_rounded:
        return graph.add("Gather", graph.constant(table), ids)
    rounded, scale = round_weights(table, axis=1)
    rows = graph.add("Cast", graph.add("Gather", graph.constant(rounded), ids), to=1)
    return graph.add("Mul", rows, graph.add("Gather", graph.constant(scale), ids))


def named_weights(module: Any) -> dict[str, Floats]:  # noqa: ANN401 - a torch module
    """Return the arrays of a module by name, in 32 bits."""
    return {name: value.detach().float().cpu().numpy() for name, value in module.state_dict().items()}
