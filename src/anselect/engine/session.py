"""An ONNX file in, a function from model inputs to logits out; several threads may call it at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anselect.engine.folder import REPAIR
from anselect.text.onnx_session import open_session

OUTPUT: Final = "logits"


class ModelSession:
    """A loaded model; takes those of the inputs that its graph names.

    `as_written` runs the graph as it stands: what onnxruntime makes of it is no faster for the 8-bit graphs, which are
    written by hand, and adds tokens up in an order that depends on the number of rows.
    """

    def __init__(self, path: Path, *, as_written: bool = False) -> None:
        self._session = open_session(path, repair=REPAIR, as_written=as_written)
        self._names = [each.name for each in self._session.get_inputs()]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return one logit for each row."""
        logits: NDArray[np.float32] = self._session.run([OUTPUT], {name: inputs[name] for name in self._names})[0]
        return logits
