"""An ONNX graph under construction: operators and stored arrays go in, the bytes of a model file come out.

8-bit products have one scale for each output column and one fixed range for their activations, measured beforehand, so
that a row's result never depends on what else stands in its batch; ranges taken from the batch would not do that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anselect.training.engine_export_rounding import Floats, Rounding

OPSET = 20
IR_VERSION = 10
MICROSOFT = "com.microsoft"
FLOAT = 1
INT64 = 7
BOOL = 9
"""ONNX's numbers for the types."""
Shaped = tuple[int, Sequence[str | int]]
"""ONNX's number of a type, and the axes."""


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

    def dense(self, hidden: str, weight: Floats, bias: Floats, plan: Rounding) -> str:
        """Multiply by a (in, out) weight and add the bias, in 8-bit integers."""
        from onnx import helper

        step, zero = self.constant(plan.step), self.constant(plan.zero)
        activations = self.add("QuantizeLinear", hidden, step, zero)
        if len(plan.channels):
            picked = self.add("Gather", hidden, self.constant(plan.channels), axis=-1)
            parts = self.add("QuantizeLinear", self.add("Add", picked, self.constant(plan.shifts)), step, zero)
            activations = self.add("Concat", activations, parts, axis=-1)
        rounded, scales = plan.round_weights(weight)
        further = rounded[len(weight) :]
        offset = self.constant((bias - plan.rests @ further * scales).astype(np.float32))
        inputs = [activations, self.constant(rounded), step, self.constant(scales), zero, "", offset]
        output = f"{self._name}dense_{len(self.nodes)}"
        self.nodes.append(helper.make_node("MatMulIntegerToFloat", inputs, [output], domain=MICROSOFT))
        return output

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
