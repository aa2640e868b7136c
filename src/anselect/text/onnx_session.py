"""An ONNX file in, an onnxruntime session out; nothing else imports onnxruntime, so that none of it calls a server."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from anselect.errors import DataError


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime without its telemetry, which from 1.31 on keeps a device id and calls a server."""
    # Read once, while the library is loaded: `disable_telemetry_events()` comes too late.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    module: ModuleType = onnxruntime
    return module


def open_session(path: Path, *, repair: str, as_written: bool = False) -> Any:  # noqa: ANN401 - onnxruntime is untyped
    """Load a model for one thread a call; raise DataError, which ends in `repair`, if it cannot be loaded.

    `as_written` leaves the graph as it stands.
    """
    onnxruntime = import_onnxruntime()
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    options = onnxruntime.SessionOptions()
    # Batches run side by side instead of each on all cores: no waiting for the slowest thread at every operator.
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if as_written:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    errors = (states.Fail, states.InvalidGraph, states.InvalidProtobuf, states.NotImplemented, states.NoSuchFile)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except errors as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"expected a model that can be loaded: {reason}: {repair}", path=path) from error
