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
# Of a model that reads each question once (`question_states.py`):
QUESTIONS: Final = "question_ids"
CANDIDATES: Final = "ids"
OWNERS: Final = "owners"
"""Which of the known questions each candidate belongs to."""
MEMORY: Final = "memory"
"""The states of known questions."""
STATES: Final = "states"
"""The states of the questions that were given."""


class ModelSession:
    """A loaded model; takes those of the inputs that its graph names.

    `as_written` runs the graph as it stands: what onnxruntime makes of it is no faster for the 8-bit graphs, which are
    written by hand, and adds tokens up in an order that depends on the number of rows.
    """

    def __init__(self, path: Path, *, as_written: bool = False) -> None:
        self._session = open_session(path, repair=REPAIR, as_written=as_written)
        asked = self._session.get_inputs()
        self._names = [each.name for each in asked]
        self.state_width: int = next((each.shape[2] for each in asked if each.name == MEMORY), 0)
        """How many numbers a model that reads each question once keeps for each of its tokens; 0 for all others."""

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return one logit for each row."""
        logits: NDArray[np.float32] = self._session.run([OUTPUT], {name: inputs[name] for name in self._names})[0]
        return logits

    def read_questions(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the states (B, T, n) of questions of equal length (B, T)."""
        inputs = {
            QUESTIONS: ids,
            CANDIDATES: np.empty((0, 1), dtype=np.int64),
            OWNERS: np.empty(0, dtype=np.int64),
            MEMORY: np.empty((0, 1, self.state_width), dtype=np.float32),
        }
        states: NDArray[np.float32] = self._session.run([STATES], inputs)[0]
        return states
