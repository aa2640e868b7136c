"""A trained student in, the two files that the package ships out: an ONNX graph with 8-bit weights and its tokenizer.

Weights have one scale for each output column, activations one fixed range for each product, measured on training
questions: integer products with fixed ranges give a question the same result whatever else stands in its batch, which
ranges taken from the batch would not. The graph has no padding mask: the caller groups questions by number of tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anselect.data.files import write_bytes, write_text
from anselect.errors import MissingExtraError
from anselect.training.answer_type_model import HEADS, LAYER_NORM_EPSILON, WIDTH
from anselect.training.engine_export_graph import IR_VERSION, OPSET, Graph, round_weights
from anselect.training.engine_export_rounding import Floats, Limits, even_rounding

if TYPE_CHECKING:
    from anselect.training.answer_type_model import Student


def write_model(student: Student, limits: Mapping[str, Limits], path: Path) -> None:
    """Write the student as an ONNX file: `ids` (B, T) int64 in, `probabilities` (B, fine types) out."""
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise MissingExtraError("train", "onnx") from error

    state = {name: value.detach().numpy() for name, value in student.state_dict().items()}
    graph = Graph()
    hidden = _embeddings(graph, state)
    for layer in range(student.layers):
        block = _Block(graph, f"blocks.{layer}.", state, limits)
        hidden = block.build(hidden, first_only=layer == student.layers - 1)
    hidden = graph.add("Squeeze", hidden, graph.numbers(1))
    logits = graph.dense(hidden, state["head.weight"].T, state["head.bias"], even_rounding(limits["head"]))
    graph.nodes.append(helper.make_node("Softmax", [logits], ["probabilities"], axis=-1))
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["questions", "tokens"])]
    outputs = [
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["questions", len(state["head.bias"])])
    ]
    built = helper.make_graph(graph.nodes, "answer_type", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(built, opset_imports=opsets, producer_name="anselect")
    model.ir_version = IR_VERSION
    with write_bytes(path) as file:
        file.write(model.SerializeToString())


def write_tokenizer(source: Path, pieces: Sequence[int], path: Path) -> None:
    """Write a tokenizer.json that knows only the kept word pieces, numbered in the given order."""
    description = json.loads(source.read_text(encoding="utf-8"))
    names = {number: name for name, number in description["model"]["vocab"].items()}
    numbers = {names[piece]: place for place, piece in enumerate(pieces)}
    description["model"]["vocab"] = numbers
    description["padding"] = description["truncation"] = None
    for token in description["added_tokens"]:
        token["id"] = numbers[token["content"]]
    for token in description["post_processor"]["special_tokens"].values():
        token["ids"] = [numbers[name] for name in token["tokens"]]
    with write_text(path) as file:
        json.dump(description, file, ensure_ascii=False)


def _embeddings(graph: Graph, state: dict[str, Floats]) -> str:
    rounded, scale = round_weights(state["tokens.weight"], axis=1)
    words = graph.add("Cast", graph.add("Gather", graph.constant(rounded), "ids"), to=1)
    words = graph.add("Mul", words, graph.add("Gather", graph.constant(scale), "ids"))
    length = graph.add("Slice", graph.add("Shape", "ids"), graph.numbers(1), graph.numbers(2))
    places = graph.constant(state["positions.weight"])
    places = graph.add("Slice", places, graph.numbers(0), length, graph.numbers(0))
    return graph.norm(
        graph.add("Add", words, places), state["norm.weight"], state["norm.bias"], epsilon=LAYER_NORM_EPSILON
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """One layer's part of the graph."""

    graph: Graph
    prefix: str
    state: Mapping[str, Floats]
    limits: Mapping[str, Limits]

    def build(self, hidden: str, *, first_only: bool) -> str:
        graph = self.graph
        if first_only:
            asked = graph.add("Slice", hidden, graph.numbers(0), graph.numbers(1), graph.numbers(1))
            query, (key, value) = self._dense(asked, "query"), graph.split(self._dense(hidden, "key", "value"), 2)
        else:
            asked = hidden
            query, key, value = graph.split(self._dense(hidden, "query", "key", "value"), 3)
        read = self._attend(query, key, value)
        attended = self._norm(graph.add("Add", asked, self._dense(read, "out")), "attention_norm")
        change = self._dense(graph.add("Gelu", self._dense(attended, "inner")), "outer")
        return self._norm(graph.add("Add", attended, change), "output_norm")

    def _attend(self, query: str, key: str, value: str) -> str:
        graph, size = self.graph, WIDTH // HEADS
        shape = graph.numbers(0, 0, HEADS, size)
        query = graph.add("Transpose", graph.add("Reshape", query, shape), perm=[0, 2, 1, 3])
        key = graph.add("Transpose", graph.add("Reshape", key, shape), perm=[0, 2, 3, 1])
        value = graph.add("Transpose", graph.add("Reshape", value, shape), perm=[0, 2, 1, 3])
        similarity = graph.add("Mul", graph.add("MatMul", query, key), graph.constant(np.array(size**-0.5, np.float32)))
        read = graph.add("MatMul", graph.add("Softmax", similarity, axis=-1), value)
        return graph.add("Reshape", graph.add("Transpose", read, perm=[0, 2, 1, 3]), graph.numbers(0, 0, WIDTH))

    def _dense(self, hidden: str, *names: str) -> str:
        """Multiply once for all the named weights: they read the same activations."""
        weight = np.concatenate([self.state[f"{self.prefix}{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self.state[f"{self.prefix}{name}.bias"] for name in names])
        return self.graph.dense(hidden, weight, bias, even_rounding(self.limits[self.prefix + names[0]]))

    def _norm(self, hidden: str, name: str) -> str:
        weight, bias = self.state[f"{self.prefix}{name}.weight"], self.state[f"{self.prefix}{name}.bias"]
        return self.graph.norm(hidden, weight, bias, epsilon=LAYER_NORM_EPSILON)
