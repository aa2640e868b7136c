"""Scores and labels in, figures out: how right and wrong candidates are scored, and whether scores keep their word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from anselect.evaluation.calibration import Bin, expected_calibration_error
from anselect.experiments.figures.style import COLOURS, WIDTH, bar_style, figure_style, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS: Final = 20
NORMAL_95: Final = 1.96


def draw_score_distributions(right: Sequence[float], wrong: Sequence[float], *, title: str) -> Figure:
    """Draw how the scores of right and wrong candidates spread over (0, 1), each kind as shares of its own."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    with figure_style():
        figure = new_figure(WIDTH, 3.4)
        axes = figure.subplots()
        kinds = ((wrong, "wrong", 1), (right, "right", 0))
        for number, (scores, name, style) in enumerate(kinds):
            shares = np.histogram(scores, edges)[0] / max(1, len(scores))
            left = edges[:-1] + number * 0.5 / BINS
            label = f"{name} ({len(scores):,} candidates)"
            axes.bar(left, shares, 0.46 / BINS, align="edge", label=label, **bar_style(style))
        axes.grid(visible=False, axis="x")
        axes.set(title=title, xlabel="score", ylabel="share of candidates", xlim=(0.0, 1.0))
        legend_below(figure, axes, columns=2)
    return figure


def draw_calibration(bins: Sequence[Bin], *, title: str) -> Figure:
    """Draw the share of correct candidates against the mean score of each bin, and under it how many each bin holds.

    Whiskers are Wilson's 95 % intervals; on the diagonal scores promise what comes true.
    """
    places, counts = [part.mean_score for part in bins], [part.count for part in bins]
    shares = np.array([part.share_correct for part in bins])
    low, high = np.array([wilson_interval(part.share_correct, part.count) for part in bins]).reshape(-1, 2).T
    whiskers = np.maximum(0.0, [shares - low, high - shares])
    error = expected_calibration_error(bins) if bins else float("nan")
    with figure_style():
        figure = new_figure(5.0, 5.6)
        above, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
        above.plot([0, 1], [0, 1], "--", color="#777777", linewidth=1, label="perfectly calibrated")
        label = f"bins (expected calibration error {error:.3f})"
        above.errorbar(places, shares, yerr=whiskers, fmt="o-", color=COLOURS[0], capsize=2.5, lw=1.2, label=label)
        above.set(title=title, ylabel="share correct", ylim=(-0.02, 1.02))
        below.bar(places, counts, 0.07, **bar_style(0))
        for place, count in zip(places, counts, strict=True):
            below.annotate(f"{count:,}", (place, count), (0, 2), textcoords="offset points", ha="center", fontsize=7)
        below.set(xlabel="mean score of the bin", ylabel="candidates\n(log scale)", yscale="log", xlim=(-0.04, 1.04))
        below.yaxis.set_major_formatter("{x:,.0f}")
        below.set_ylim(0.5, 10 * max([*counts, 1]))
        legend_below(figure, above)
    return figure


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; unlike the normal one it has a width at 0 and 1.

    >>> [round(end, 3) for end in wilson_interval(0.0, 10)]
    [0.0, 0.278]
    """
    square = NORMAL_95**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = NORMAL_95 / (1 + square / count) * np.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
