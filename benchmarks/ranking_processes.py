"""Sides as running processes: questions go out, answers with their times come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anselect.records import Question

ROOT = Path(__file__).parent.parent
PAUSE_SECONDS = 0.3
"""Before a side's turn: threads of the side before it spin for a while after their last work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a side's process answers to one request."""

    scores: list[float]
    seconds: float
    cpu_seconds: float
    peak_megabytes: float


class SideProcess:
    """One side in a process of its own, which ends with the `with` block."""

    def __init__(self, side: str, folder: str, *, threads: int, python: str = sys.executable) -> None:
        self.side = side
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = {
            "OMP_NUM_THREADS": str(threads),
            "ORT_DISABLE_TELEMETRY": "1",
            "PYTHONPATH": path,
            "TOKENIZERS_PARALLELISM": "true",
        }
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.ranking_worker", side, folder, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | variables,
        )

    def ask(self, questions: Sequence[Question]) -> Answer:
        """Let the side score the questions; raise SystemExit if it fails."""
        asked = [(question.text, [candidate.text for candidate in question.candidates]) for question in questions]
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit(f"{self.side}: no pipe to its process")
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.side}: its process ended with {self._process.wait()} before it answered")
        content: dict[str, Any] = json.loads(line)
        return Answer(**content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closes its stdin, upon which it ends


def take_turns(seconds: float = PAUSE_SECONDS) -> None:
    """Wait until the side before has come to rest."""
    time.sleep(seconds)
