"""How long a table's trainings will take: estimates before the first, the real speed of finished ones after that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from anselect.experiments.cells import Cell

TIMES: Final = "times.jsonl"

Estimate = Callable[[Cell], float | None]
"""Seconds that a training is thought to take on this machine; None where nothing is known."""


@dataclass
class TimeBook:
    """What trainings were thought to take and what they took, kept in a file over several calls.

    Only trainings that ran from start to end in one go are entered.
    """

    path: Path
    estimate: Estimate
    _guesses: dict[Path, float | None] = field(default_factory=dict)

    def enter(self, cell: Cell, seconds: float) -> None:
        """Keep what a training took."""
        # Only a guess made before is kept: to estimate now would cost time for nothing.
        entry = {"cell": _key(cell), "estimated": self._guesses.get(cell.folder.parent), "seconds": round(seconds, 2)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def expected_seconds(self, cell: Cell) -> float | None:
        """Return what the same training took with another seed, else the estimate times how far estimates were off."""
        entries = list(self._entries())
        same = [entry["seconds"] for entry in entries if entry["cell"] == _key(cell)]
        if same:
            return float(sum(same) / len(same))
        guess = self._guess(cell)
        known = [(entry["seconds"], entry["estimated"]) for entry in entries if entry["estimated"]]
        if guess is None or not known:
            return guess
        return float(guess * sum(seconds for seconds, _ in known) / sum(estimated for _, estimated in known))

    def _guess(self, cell: Cell) -> float | None:
        # Seeds do not change how long a training takes.
        place = cell.folder.parent
        if place not in self._guesses:
            self._guesses[place] = self.estimate(cell)
        return self._guesses[place]

    def _entries(self) -> Iterator[dict[str, Any]]:
        if not self.path.is_file():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:  # the last line of a call that was killed
                continue


def fitting(cells: Sequence[Cell], book: TimeBook, seconds: float) -> list[Cell]:
    """Choose, in their order, the trainings that fit into so many seconds together; unknown ones count as nothing."""
    chosen = []
    for cell in cells:
        expected = book.expected_seconds(cell) or 0.0
        if expected <= seconds:
            seconds -= expected
            chosen.append(cell)
    return chosen


def _key(cell: Cell) -> str:
    """Name the training without its seed: RECIPE/ENCODER/DATA."""
    return "/".join(cell.folder.parts[-4:-1])
