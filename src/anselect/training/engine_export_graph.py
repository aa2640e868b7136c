"""An ONNX graph under construction: operators and stored arrays go in, the bytes of a model file come out.

8-bit products have one scale for each output column and one fixed range for their activations, measured beforehand, so
that a row's result never depends on what else stands in its batch; ranges taken from the batch would not do that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 20
IR_VERSION = 10
# Processors without VNNI add two products in 16 bits: 2 × 255 × 64 still fits, 2 × 255 × 127 would not.
LARGEST_WEIGHT = 63
OUTLIERS = 4
"""Channels of a product that are multiplied in 32 bits."""
MICROSOFT = "com.microsoft"
FLOAT = 1
INT64 = 7
BOOL = 9
"""ONNX's numbers for the types."""
Floats = NDArray[np.float32]
Limits = tuple[float, float]
"""Smallest and largest activation; both sides of zero."""
Shaped = tuple[int, Sequence[str | int]]
"""ONNX's number of a type, and the axes."""


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """What a product's activations were seen to be, channel by channel."""

    low: Floats
    high: Floats

    def range(self, but: Sequence[int] = ()) -> Limits:
        """Return the smallest and the largest value, on both sides of zero, but for those of some channels."""
        low, high = np.delete(self.low, but), np.delete(self.high, but)
        return min(0.0, float(low.min(initial=0.0))), max(0.0, float(high.max(initial=0.0)))

    def outliers(self, count: int) -> list[int]:
        """Return the channels with the largest values, in rising order.

        >>> ChannelLimits(np.array([-1, -9, 0], np.float32), np.array([1, 2, 5], np.float32)).outliers(2)
        [1, 2]
        """
        largest = np.maximum(-self.low, self.high)
        return sorted(np.argsort(-largest, kind="stable")[:count].tolist())

    def joined(self, other: ChannelLimits) -> ChannelLimits:
        """Return the limits of what both have seen."""
        return ChannelLimits(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Graph:
    """An ONNX graph under construction: `add` appends an operator and returns its output's name."""

    def __init__(self, name: str = "") -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._name = name
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def branch(self, name: str) -> Graph:
        """Begin a part that `either` chooses; stored arrays are the whole graph's, each of them once."""
        part = Graph(name)
        part.constants, part._known = self.constants, self._known
        return part

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: int | float | list[int]) -> str:
        """Append an operator with one output."""
        from onnx import helper

        output = f"{self._name}{operator}_{len(self.nodes)}"
        node = helper.make_node(operator, list(inputs), [output], domain=domain or None)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def name_last(self, name: str) -> None:
        """Give what the last operator puts out a name of its own."""
        self.nodes[-1].output[0] = name

    def constant(self, value: NDArray[Any]) -> str:
        """Append a stored array, or find it where an equal one is stored already."""
        from onnx import numpy_helper

        whole = np.ascontiguousarray(value)
        key = (whole.dtype.str, whole.shape, hashlib.sha256(whole.tobytes()).digest())
        if key not in self._known:
            self._known[key] = f"constant_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(whole, self._known[key]))
        return self._known[key]

    def numbers(self, *values: int) -> str:
        """Append whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def dense(self, hidden: str, weight: Floats, bias: Floats, limits: Limits) -> str:
        """Multiply by a (in, out) weight and add the bias, in 8-bit integers."""
        from onnx import helper

        rounded, scale = round_weights(weight, axis=0, largest=LARGEST_WEIGHT)
        step = max(limits[1] - limits[0], 1e-6) / 255
        step_name = self.constant(np.array(step, dtype=np.float32))
        zero = self.constant(np.array(round(-limits[0] / step), dtype=np.uint8))
        activations = self.add("QuantizeLinear", hidden, step_name, zero)
        scales = self.constant(scale.reshape(-1))
        inputs = [activations, self.constant(rounded), step_name, scales, zero, "", self.constant(bias)]
        output = f"{self._name}dense_{len(self.nodes)}"
        self.nodes.append(helper.make_node("MatMulIntegerToFloat", inputs, [output], domain=MICROSOFT))
        return output

    def mixed_dense(self, hidden: str, weight: Floats, bias: Floats, limits: ChannelLimits) -> str:
        """Multiply in 8-bit integers but for the few channels that would widen the range of all others.

        One value of BERT's layer norm reaches 28 where most stay below 3; with four channels in 32 bits the error of a
        logit falls to 40 %.
        """
        apart = limits.outliers(OUTLIERS)
        rest = weight.copy()
        rest[apart] = 0.0  # their own 8-bit values, cut to the narrower range, then count for nothing
        product = self.dense(hidden, rest, bias, limits.range(but=apart))
        picked = self.add("Gather", hidden, self.numbers(*apart), axis=-1)
        return self.add("Add", product, self.add("MatMul", picked, self.constant(weight[apart])))

    def split(self, hidden: str, parts: int) -> list[str]:
        """Cut the last axis into equal parts."""
        from onnx import helper

        names = [f"{hidden}_{part}" for part in range(parts)]
        self.nodes.append(helper.make_node("Split", [hidden], names, axis=-1, num_outputs=parts))
        return names

    def either(
        self,
        condition: str,
        branches: Sequence[tuple[Graph, Sequence[str]]],
        outputs: Mapping[str, Sequence[str | int]],
    ) -> None:
        """Append a choice between two branches; each comes with the names of what it gives for the outputs."""
        from onnx import TensorProto, helper

        parts = []
        for branch, given in branches:
            found = [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, list(axes))
                for name, axes in zip(given, outputs.values(), strict=True)
            ]
            parts.append(helper.make_graph(branch.nodes, branch._name, [], found))
        choice = helper.make_node("If", [condition], list(outputs), then_branch=parts[0], else_branch=parts[1])
        self.nodes.append(choice)

    def norm(self, hidden: str, weight: Floats, bias: Floats, *, epsilon: float) -> str:
        """Normalise the last axis."""
        parts = (self.constant(weight), self.constant(bias))
        return self.add("LayerNormalization", hidden, *parts, axis=-1, epsilon=epsilon)

    def serialize(self, name: str, inputs: Mapping[str, Shaped], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        """Return the model file: inputs by name with type and axes, outputs of 32-bit floats with their axes."""
        from onnx import TensorProto, helper

        asked = [helper.make_tensor_value_info(each, kind, list(axes)) for each, (kind, axes) in inputs.items()]
        found = [helper.make_tensor_value_info(each, TensorProto.FLOAT, list(axes)) for each, axes in outputs.items()]
        built = helper.make_graph(self.nodes, name, asked, found, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(built, opset_imports=opsets, producer_name="anselect")
        model.ir_version = IR_VERSION
        content: bytes = model.SerializeToString()
        return content


def round_weights(weight: Floats, *, axis: int, largest: int = 127) -> tuple[NDArray[np.int8], Floats]:
    """Round to integers up to ± largest with one scale for each slice along `axis`: weight ≈ rounded × scale."""
    scale = np.maximum(np.abs(weight).max(axis=axis, keepdims=True), 1e-12) / largest
    return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)
