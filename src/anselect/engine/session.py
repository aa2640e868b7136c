"""An ONNX file in, a function from model inputs to logits out; several threads may call it at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anselect.engine.folder import REPAIR
from anselect.errors import DataError

OUTPUT: Final = "logits"


class ModelSession:
    """A loaded model; takes those of the inputs that its graph names.

    `as_written` runs the graph as it stands: what onnxruntime makes of it is no faster for the 8-bit graphs, which are
    written by hand, and adds tokens up in an order that depends on the number of rows.
    """

    def __init__(self, path: Path, *, as_written: bool = False) -> None:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as states

        options = onnxruntime.SessionOptions()
        # Batches run side by side instead of each on all cores: no waiting for the slowest thread at every operator.
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        if as_written:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        errors = (states.Fail, states.InvalidGraph, states.InvalidProtobuf, states.NotImplemented, states.NoSuchFile)
        try:
            self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except errors as error:
            reason = str(error).split("\n")[0]
            raise DataError(f"expected a model that can be loaded: {reason}: {REPAIR}", path=path) from error
        self._names = [each.name for each in self._session.get_inputs()]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return one logit for each row."""
        logits: NDArray[np.float32] = self._session.run([OUTPUT], {name: inputs[name] for name in self._names})[0]
        return logits
