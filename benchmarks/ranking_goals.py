"""Measured figures in; the ratios that the project promises, met or not, and a table to read out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.ranking_sides import OURS, SIDES, THEIRS

MAP_TOLERANCE = 0.003
"""How much lower MAP may be for speeds to be compared."""
Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """One promise: how many times better than the other side."""

    measure: str
    against: str
    wanted: float
    ratio: float
    map_difference: float | None = None
    """Ours minus theirs; None where there are no labels."""

    @property
    def is_met(self) -> bool:
        """Whether the ratio is reached, at equal MAP where MAP is known."""
        is_equal = self.map_difference is None or self.map_difference >= -MAP_TOLERANCE
        return bool(self.ratio >= self.wanted and is_equal)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "is_met": self.is_met}


def find_goals(result: Figures) -> list[Goal]:
    """Compare ours with every other side in every measure."""
    return [*_speed(result), *_latency(result), *_starts(result)]


def _speed(result: Figures) -> Iterator[Goal]:
    for case in result["cases"]:
        sides = case["sides"]
        for side in _others(sides):
            ratio = sides[OURS]["pairs_per_second"] / sides[side]["pairs_per_second"]
            both = (sides[OURS]["map"], sides[side]["map"])
            difference = None if None in both else both[0] - both[1]
            yield Goal(f"pairs/s, {case['name']}", side, 4.0 if side == THEIRS else 1.5, ratio, difference)


def _latency(result: Figures) -> Iterator[Goal]:
    for case in result["latency"]:
        sides = case["sides"]
        for side in _others(sides):
            for name in ("p50_ms", "p95_ms"):
                ratio = sides[side][name] / sides[OURS][name]
                yield Goal(f"latency {name[:3]}, {case['name']}", side, 2.0, ratio)


def _starts(result: Figures) -> Iterator[Goal]:
    sides = result["cold_start"]
    for side in _others(sides):
        if side == THEIRS:  # a bare script can start no slower than we do
            yield Goal("cold start", side, 12.0, sides[side]["seconds"] / sides[OURS]["seconds"])
            yield Goal("peak memory", side, 3.0, sides[side]["peak_megabytes"] / sides[OURS]["peak_megabytes"])


def _others(sides: Figures) -> list[str]:
    return [side for side in sides if side != OURS] if OURS in sides else []


def describe(result: Figures) -> str:
    """Return all figures as Markdown."""
    return "\n".join([*_case_lines(result), *_latency_lines(result), *_start_lines(result), *_goal_lines(result)])


def _case_lines(result: Figures) -> Iterator[str]:
    for case in result["cases"]:
        yield f"\n{case['name']}: {case['pairs']:,} pairs, {case['tokens_per_pair']:.1f} tokens each\n"
        yield "| side | pairs/s | pairs/CPU s | MAP | useful GFLOP/s | of fp32 peak | of int8 peak | peak MB |"
        yield "|---|---|---|---|---|---|---|---|"
        for side, each in case["sides"].items():
            value = "–" if each["map"] is None else f"{each['map']:.4f}"
            speeds = f"{each['pairs_per_second']:.0f} | {each['pairs_per_cpu_second']:.0f}"
            shares = f"{each['share_of_fp32_peak']:.0%} | {each['share_of_int8_peak']:.0%}"
            giga, peak = each["useful_gflops"], each["peak_megabytes"]
            yield f"| {SIDES[side].title} | {speeds} | {value} | {giga:.0f} | {shares} | {peak:.0f} |"


def _latency_lines(result: Figures) -> Iterator[str]:
    for case in result["latency"]:
        yield f"\n{case['name']}: {case['calls']} calls\n\n| side | p50 ms | p95 ms | CPU ms |\n|---|---|---|---|"
        for side, each in case["sides"].items():
            yield f"| {SIDES[side].title} | {each['p50_ms']:.1f} | {each['p95_ms']:.1f} | {each['cpu_p50_ms']:.1f} |"


def _start_lines(result: Figures) -> Iterator[str]:
    yield "\nNew process to first ranking\n\n| side | seconds | peak MB |\n|---|---|---|"
    for side, each in result["cold_start"].items():
        yield f"| {SIDES[side].title} | {each['seconds']:.2f} | {each['peak_megabytes']:.0f} |"


def _goal_lines(result: Figures) -> Iterator[str]:
    yield "\n| measure | against | times better | goal | MAP ours − theirs | met |\n|---|---|---|---|---|---|"
    for goal in result["goals"]:
        change = "–" if goal["map_difference"] is None else f"{goal['map_difference']:+.4f}"
        met = "yes" if goal["is_met"] else "no"
        title = SIDES[goal["against"]].title
        yield f"| {goal['measure']} | {title} | {goal['ratio']:.2f} | {goal['wanted']:g} | {change} | {met} |"
    for name, reason in result["not_measured"].items():
        yield f"\nnot measured: {name}: {reason}"
