"""The figures of the ranking benchmark in, one picture with a panel of bars for each measure out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anselect.experiments.figures.style import FORMATS, bar_style, figure_style, new_figure, save_figure
from benchmarks.ranking_sides import OURS, SIDES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 2
TITLES = {side: each.title.replace(" sorted, ", "\n").replace(", ", "\n") for side, each in SIDES.items()}


@dataclass(frozen=True, slots=True)
class Panel:
    """One measure: a value for each side, and how it reads."""

    title: str
    values: Mapping[str, float]
    is_rate: bool
    """Whether more is better."""
    form: str
    """How a value is written."""
    remarks: Mapping[str, str]
    """What else stands beside a bar, by side."""


def find_panels(result: Mapping[str, Any]) -> Iterator[Panel]:
    """Pick what is drawn out of all figures."""
    for case in result["cases"]:
        sides = case["sides"]
        maps = {side: f"MAP {each['map']:.3f}" for side, each in sides.items() if each["map"] is not None}
        speeds = {side: each["pairs_per_second"] for side, each in sides.items()}
        yield Panel(f"{case['name']}: pairs a second", speeds, True, "{:.0f}", maps)
    for case in result["latency"]:
        sides = case["sides"]
        tails = {side: f"p95 {each['p95_ms']:.0f}" for side, each in sides.items()}
        title = f"{case['name'].replace('one question, ', '').replace('one question with ', '')}: ms, median"
        yield Panel(title, {side: each["p50_ms"] for side, each in sides.items()}, False, "{:.0f}", tails)
    starts = result["cold_start"]
    seconds = {side: each["seconds"] for side, each in starts.items()}
    yield Panel("New process to first ranking: seconds", seconds, False, "{:.1f}", {})
    memory = {side: each["peak_megabytes"] for side, each in starts.items()}
    yield Panel("Peak memory of that process: MB", memory, False, "{:.0f}", {})


def draw_picture(result: Mapping[str, Any]) -> Figure:
    """Draw a panel for each measure; beside each bar its value and how many times better ours is."""
    panels = list(find_panels(result))
    rows = -(-len(panels) // COLUMNS)
    with figure_style():
        figure = new_figure(9.5, 0.7 + rows * (0.7 + 0.36 * max(len(panel.values) for panel in panels)))
        for place, panel in enumerate(panels):
            _draw(figure.add_subplot(rows, COLUMNS, place + 1), panel)
        about = result["about"]
        figure.suptitle(f"{about['processor']}, {about['threads']} threads, {about['date']}", fontsize=9)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for place, (side, value) in enumerate(panel.values.items()):
        axes.barh(place, value, 0.72, **bar_style(place))
        parts = [panel.form.format(value), panel.remarks.get(side, ""), _ratio(panel, side)]
        axes.annotate(
            " · ".join(part for part in parts if part),
            (value, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.set_yticks(range(len(panel.values)), [TITLES[side] for side in panel.values], fontsize=7.5)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(title=panel.title, xlim=(0.0, 1.9 * max(panel.values.values())))


def _ratio(panel: Panel, side: str) -> str:
    if side == OURS or OURS not in panel.values:
        return ""
    ours, theirs = panel.values[OURS], panel.values[side]
    return f"ours {ours / theirs if panel.is_rate else theirs / ours:.1f} ×"


def save_picture(result: Mapping[str, Any], path: Path) -> None:
    """Write the picture in both formats beside each other, whichever of them the name has."""
    figure = draw_picture(result)
    for name in FORMATS:
        save_figure(figure, path.with_suffix(f".{name}"))
