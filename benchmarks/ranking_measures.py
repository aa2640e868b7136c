"""Running sides and cases in, their times out: all sides take turns, and each side's best round counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.ranking_cases import Case
from benchmarks.ranking_processes import Answer, SideProcess, take_turns

Note = Callable[[str], None]


@dataclass(slots=True)
class Rounds:
    """What one side did in one case."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    peak_megabytes: float = 0.0

    def add(self, answer: Answer) -> None:
        """Keep an answer; scores of the last one."""
        self.seconds.append(answer.seconds)
        self.cpu_seconds.append(answer.cpu_seconds)
        self.scores, self.peak_megabytes = answer.scores, answer.peak_megabytes


def measure_case(processes: Mapping[str, SideProcess], case: Case, *, rounds: int, note: Note) -> dict[str, Rounds]:
    """Let each side score the whole case in turn, round after round."""
    found = {side: Rounds() for side in processes}
    for number in range(rounds):
        for side, process in processes.items():
            take_turns()
            found[side].add(process.ask(case.questions))
            note(f"{case.name}, round {number + 1}: {side} {found[side].seconds[-1]:.2f} s")
    return found


def measure_latency(processes: Mapping[str, SideProcess], case: Case, *, calls: int, rounds: int) -> dict[str, Rounds]:
    """Let each side answer single questions: so many calls in a row, then the next side, round after round."""
    found = {side: Rounds() for side in processes}
    for _ in range(rounds):
        for side, process in processes.items():
            take_turns()
            process.ask(case.questions[:1])  # what follows comes from a service that is awake
            for call in range(calls):
                found[side].add(process.ask([case.questions[call % len(case.questions)]]))
    return found


def speed_figures(
    case: Case, found: Mapping[str, Rounds], *, operations: int, peaks: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Return pairs a second, MAP and the share of the machine's arithmetic of each side in one case."""
    figures = {}
    for side, rounds in found.items():
        giga = operations / min(rounds.seconds) / 1e9
        value = case.mean_average_precision(rounds.scores)
        figures[side] = {
            "pairs_per_second": case.pairs / min(rounds.seconds),
            "pairs_per_cpu_second": case.pairs / min(rounds.cpu_seconds),
            "seconds": rounds.seconds,
            "map": value,
            "useful_gflops": giga,
            "share_of_fp32_peak": giga / peaks["fp32_gflops"],
            "share_of_int8_peak": giga / peaks["int8_gops"],
            "peak_megabytes": rounds.peak_megabytes,
        }
    return figures


def latency_figures(found: Mapping[str, Rounds]) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile of one question's time for each side, in milliseconds."""
    figures = {}
    for side, rounds in found.items():
        p50, p95 = (float(value) for value in np.percentile(rounds.seconds, [50, 95]))
        cpu = float(np.median(rounds.cpu_seconds))
        figures[side] = {"p50_ms": p50 * 1000, "p95_ms": p95 * 1000, "cpu_p50_ms": cpu * 1000}
    return figures


def count_tokens(case: Case, tokenizer_file: str) -> list[int]:
    """Return how many tokens each pair has, with its special tokens, cut as the model cuts it."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer_file)
    pairs = [(question.text, candidate.text) for question in case.questions for candidate in question.candidates]
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(pairs)]
