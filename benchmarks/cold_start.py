"""From a new process to its first ranking: seconds, and the most memory that the process held by then.

Without arguments it measures nothing: `benchmarks/ranking.py` calls it with the sides' folders.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.ranking_cases import Case
from benchmarks.ranking_processes import SideProcess, take_turns


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The best of several starts of one side."""

    seconds: float
    peak_megabytes: float


def measure_cold_starts(
    sides: Sequence[str], folders: Mapping[str, str], case: Case, *, threads: int, rounds: int
) -> dict[str, ColdStart]:
    """Start every side in turn, several times, and let it rank the case's first question.

    Files are in the system's cache from the second round on: what counts is the best round.
    """
    found: dict[str, list[ColdStart]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            take_turns()
            found[side].append(_start(side, folders[side], case, threads))
    return {
        side: ColdStart(min(each.seconds for each in starts), min(each.peak_megabytes for each in starts))
        for side, starts in found.items()
    }


def _start(side: str, folder: str, case: Case, threads: int) -> ColdStart:
    started = time.perf_counter()
    with SideProcess(side, folder, threads=threads) as process:
        answer = process.ask(case.questions[:1])
        return ColdStart(time.perf_counter() - started, answer.peak_megabytes)
