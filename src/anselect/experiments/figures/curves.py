"""Plain numbers in, figures with lines out: training curves, risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from anselect.evaluation.calibration import Abstention
from anselect.experiments.figures.style import WIDTH, figure_style, legend_below, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMOOTHED_SHARE: Final = 0.05
"""Losses are shown as means over so large a share of their entries: single batches say little."""
LEGEND_LINE: Final = 0.2
"""Inches of height for each line of a legend."""


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """What one run logged: (step, value) pairs in the order of steps."""

    name: str
    loss: tuple[tuple[int, float], ...]
    dev_map: tuple[tuple[int, float], ...]


def draw_training_curves(curves: Sequence[TrainingCurve]) -> Figure:
    """Draw loss and dev MAP over steps, a line for each run; the best dev MAP of a run is ringed."""
    with figure_style():
        figure = new_figure(WIDTH, 4.6 + LEGEND_LINE * len(curves))
        above, below = figure.subplots(2, sharex=True)
        for place, curve in enumerate(curves):
            style = line_style(place)
            if curve.loss:
                steps, losses = _smooth(curve.loss)
                above.plot(steps, losses, color=style["color"], linestyle=style["linestyle"], linewidth=1.2)
            steps_measured, figures = zip(*curve.dev_map, strict=True) if curve.dev_map else ((), ())
            below.plot(steps_measured, figures, label=_label(curve), linewidth=1.2, markersize=5, **style)
            if figures:
                best = int(np.argmax(figures))
                below.plot(steps_measured[best], figures[best], "o", color=style["color"], fillstyle="none", ms=11)
        above.set(title="Training loss (moving mean)", ylabel="loss")
        below.set(title="MAP on dev (ring: the epoch that is kept)", xlabel="step", ylabel="MAP")
        legend_below(figure, below)
    return figure


def draw_risk_coverage(curves: Mapping[str, Abstention]) -> Figure:
    """Draw the share of wrong answers among the questions answered, the surest first, for each named run."""
    with figure_style():
        figure = new_figure(WIDTH, 3.6 + LEGEND_LINE * len(curves))
        axes = figure.subplots()
        for place, (name, found) in enumerate(curves.items()):
            label = f"{name}: area {found.risk_area:.3f}, AUROC {found.auroc:.3f}"
            every = max(1, len(found.coverage) // 8)
            axes.plot(
                found.coverage,
                found.risk,
                label=label,
                linewidth=1.2,
                markersize=4,
                markevery=every,
                **line_style(place),
            )
        axes.set(
            title="Risk and coverage: answer only where the best score is high",
            xlabel="coverage: share of questions answered",
            ylabel="risk: share of these\nwith a wrong first candidate",
            xlim=(0.0, 1.02),
            ylim=(0.0, 1.0),
        )
        legend_below(figure, axes)
    return figure


def _label(curve: TrainingCurve) -> str:
    best = max((value for _, value in curve.dev_map), default=None)
    return curve.name if best is None else f"{curve.name} (best dev MAP {best:.4f})"


def _smooth(pairs: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return steps and the mean of the entries up to each, over a window of a fixed share of all entries.

    >>> _smooth([(10, 1.0), (20, 3.0)])
    ([10, 20], [1.0, 3.0])
    """
    window = max(1, round(SMOOTHED_SHARE * len(pairs)))
    values = np.array([value for _, value in pairs])
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - window)
    return [step for step, _ in pairs], ((sums[ends] - sums[starts]) / (ends - starts)).tolist()
