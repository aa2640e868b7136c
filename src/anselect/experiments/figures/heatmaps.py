"""Cosines of words, with evidence or without, in; heat maps out, after CETE's Figures 2 and 3: darker is closer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from anselect.experiments.figures.style import COLOURS, HATCHES, WIDTH, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

COLOUR_MAP: Final = "cividis_r"
WORDS_PER_LINE: Final = 20
"""A longer candidate goes on in a second heat map under the first, as text does."""
LONGEST_WORD: Final = 16
ROW_INCHES: Final = 0.24
BARS_INCHES: Final = 0.8
SMALLEST_WRITTEN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The words of a question and of a candidate, and how similar they are."""

    title: str
    question: tuple[str, ...]
    candidate: tuple[str, ...]
    cosines: npt.NDArray[np.float64]
    """(words of the question, words of the candidate)"""
    evidence: tuple[float, ...] | None = None
    """What each word of the candidate adds to the logit; drawn as bars under the heat map."""

    def parts(self) -> list[Heatmap]:
        """Cut the candidate into lines of at most `WORDS_PER_LINE` words, as even as possible."""
        lines = max(1, -(-len(self.candidate) // WORDS_PER_LINE))
        ends = [round(len(self.candidate) * line / lines) for line in range(lines + 1)]
        return [
            Heatmap(
                self.title if first == 0 else f"{self.title} (words {first + 1} to {last})",
                self.question,
                self.candidate[first:last],
                self.cosines[:, first:last],
                None if self.evidence is None else self.evidence[first:last],
            )
            for first, last in pairwise(ends)
        ]


def draw_heatmaps(maps: Sequence[Heatmap], *, title: str = "") -> Figure:
    """Draw heat maps under each other, on one scale of colours, with the cosine in every cell."""
    parts = list(chain.from_iterable(each.parts() for each in maps))
    heights = [height for part in parts for height in _heights(part)]
    columns = max([1, *(len(part.candidate) for part in parts)])
    low = min([0.0, *(float(part.cosines.min()) for part in parts if part.cosines.size)])
    with figure_style():
        labels = sum(0.35 + 0.07 * max(map(len, _short(part.candidate)), default=1) for part in parts)
        figure = new_figure(WIDTH, 0.9 + sum(heights) + labels)
        grid = figure.add_gridspec(max(1, len(heights)), 1, height_ratios=heights or None)
        row = 0
        image = None
        strongest = max((abs(value) for part in parts for value in part.evidence or ()), default=1.0) or 1.0
        for part in parts:
            axes = figure.add_subplot(grid[row])
            image = _draw_map(axes, part, columns, low)
            row += 1
            if part.evidence is not None:
                axes.tick_params(labelbottom=False)
                _draw_evidence(figure.add_subplot(grid[row], sharex=axes), part, strongest)
                row += 1
        if image is not None:
            bar = figure.colorbar(image, ax=figure.axes, location="bottom", aspect=50, shrink=0.6, pad=0.01)
            bar.set_label("cosine of word vectors")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold", wrap=True)
    return figure


def _heights(part: Heatmap) -> list[float]:
    rows = ROW_INCHES * max(1, len(part.question))
    return [rows] if part.evidence is None else [rows, BARS_INCHES]


def _draw_map(axes: Axes, part: Heatmap, columns: int, low: float) -> AxesImage:
    rows = max(1, len(part.question))
    cosines = part.cosines if part.cosines.size else np.zeros((rows, 0))
    extent = (-0.5, max(1, len(part.candidate)) - 0.5, rows - 0.5, -0.5)
    shown = cosines if cosines.size else np.full((rows, 1), np.nan)
    image = axes.imshow(shown, cmap=COLOUR_MAP, vmin=low, vmax=1.0, aspect="auto", extent=extent)
    for (row, column), value in np.ndenumerate(cosines):
        colour = "white" if (value - low) / (1.0 - low) > 0.55 else "black"
        axes.text(column, row, _cosine(value), ha="center", va="center", color=colour, fontsize=5.5)
    axes.set_xticks(range(len(part.candidate)), _short(part.candidate), rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(part.question)), _short(part.question))
    axes.set_xlim(-0.5, columns - 0.5)
    _bare(axes)
    axes.set_title(part.title)
    return image


def _draw_evidence(axes: Axes, part: Heatmap, strongest: float) -> None:
    for place, value in enumerate(part.evidence or ()):
        colour, hatch = (COLOURS[0], HATCHES[0]) if value >= 0 else (COLOURS[1], HATCHES[1])
        axes.bar(place, value, 0.8, facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.0)
        above = "bottom" if value >= 0 else "top"
        if abs(value) >= SMALLEST_WRITTEN:
            axes.text(place, value, f"{value:+.1f}".replace("-", "−"), ha="center", va=above, fontsize=5.5)
    axes.axhline(0.0, color="black", linewidth=0.6)
    axes.set_ylim(-1.35 * strongest, 1.35 * strongest)
    axes.set_ylabel("logit", fontsize=7)
    axes.tick_params(axis="y", labelsize=6)
    _bare(axes)
    axes.set_xticks(range(len(part.candidate)), _short(part.candidate), rotation=60, ha="right", rotation_mode="anchor")


def _cosine(value: float) -> str:
    """Write a cosine in as little room as possible.

    >>> _cosine(-0.001), _cosine(0.53), _cosine(-0.4)
    ('.00', '.53', '−.40')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("0.", ".").replace("-", "−")


def _bare(axes: Axes) -> None:
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="x", length=0)


def _short(words: Sequence[str]) -> list[str]:
    """Cut long words, and leave out what would break the line.

    >>> _short(["Bell", "Donaudampfschifffahrtsgesellschaft"])
    ['Bell', 'Donaudampfschif…']
    """
    plain = [" ".join(word.split()) for word in words]
    return [word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…" for word in plain]
