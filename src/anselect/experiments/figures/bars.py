"""Plain numbers in, figures with bars out: systems side by side (CETE's Figure 4), MAP by answer type."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from anselect.experiments.figures.style import WIDTH, bar_style, figure_style, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_CHARACTERS: Final = 30
NORMAL_95: Final = 1.96
_ERROR: Final[dict[str, Any]] = {"ecolor": "black", "elinewidth": 1.0, "capsize": 2.5}


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system: for each measure its values, one per seed."""

    label: str
    values: Mapping[str, Sequence[float]]


def draw_systems(systems: Sequence[SystemResult], *, title: str) -> Figure:
    """Draw a bar for each system and measure; the whisker is the standard deviation over seeds, where there are some.

    All systems must have the same measures.
    """
    measures = list(systems[0].values) if systems else []
    with figure_style():
        figure = new_figure(WIDTH, 1.3 + 0.27 * (len(measures) + 0.6) * max(1, len(systems)))
        axes = figure.subplots()
        for place, measure in enumerate(measures):
            means = [float(np.mean(system.values[measure])) for system in systems]
            errors = [_deviation(system.values[measure]) for system in systems]
            offsets = np.arange(len(systems)) + (place - (len(measures) - 1) / 2) * 0.8 / len(measures)
            axes.barh(offsets, means, 0.8 / len(measures), label=measure, **bar_style(place))
            _whiskers_beside(axes, offsets, means, errors)
        labels = [
            f"{textwrap.fill(each.label, LABEL_CHARACTERS, break_on_hyphens=False)}\n{_seeds(each)}" for each in systems
        ]
        axes.set_yticks(range(len(systems)), labels)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(title=title, xlim=(0.0, 1.12), xticks=np.linspace(0.0, 1.0, 6))
        legend_below(figure, axes, columns=max(1, len(measures)))
    return figure


def draw_map_by_answer_type(results: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw MAP by answer type: for each named run, and each type, the average precisions of its questions.

    Whiskers are 95 % intervals of the mean; every type says how many questions it has.
    """
    types = sorted({kind for values in results.values() for kind in values})
    with figure_style():
        figure = new_figure(WIDTH, 3.2 + 0.2 * len(results))
        axes = figure.subplots()
        width = 0.8 / max(1, len(results))
        for place, (name, values) in enumerate(results.items()):
            known = [(number, values[kind]) for number, kind in enumerate(types) if len(values.get(kind, ()))]
            offsets = np.array([number for number, _ in known]) + (place - (len(results) - 1) / 2) * width
            means = np.array([float(np.mean(own)) for _, own in known])
            errors = np.array([NORMAL_95 * _deviation(own) / np.sqrt(len(own)) for _, own in known])
            axes.bar(offsets, means, width, label=name, **bar_style(place))
            whiskers = [np.minimum(errors, means), np.minimum(errors, 1.0 - means)]  # no mean lies beyond 0 and 1
            axes.errorbar(offsets, means, yerr=whiskers, fmt="none", **_ERROR)
        counts = [max((len(values.get(kind, ())) for values in results.values()), default=0) for kind in types]
        labels = [f"{kind}\n{count} question{'s' * (count != 1)}" for kind, count in zip(types, counts, strict=True)]
        axes.set_xticks(range(len(types)), labels)
        axes.grid(visible=False, axis="x")
        axes.set(title="MAP by answer type (whiskers: 95 % interval of the mean)", ylabel="MAP", ylim=(0.0, 1.0))
        legend_below(figure, axes)
    return figure


def _whiskers_beside(axes: Axes, offsets: Iterable[float], means: Sequence[float], errors: Sequence[float]) -> None:
    for offset, mean, error in zip(offsets, means, errors, strict=True):
        if error:
            axes.errorbar(mean, offset, xerr=error, fmt="none", **_ERROR)
        text = f"{mean:.3f} ± {error:.3f}" if error else f"{mean:.3f}"
        axes.text(mean + error + 0.01, offset, text, va="center", fontsize=8)


def _seeds(system: SystemResult) -> str:
    count = max((len(values) for values in system.values.values()), default=0)
    return "1 seed" if count == 1 else f"{count} seeds"


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
