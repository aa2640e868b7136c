"""How figures look and are written: colours that the colour-blind tell apart, text as text, always the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from anselect.data.files import write_bytes
from anselect.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito 2008. Never the only sign: lines differ in dashes and markers too, bars in hatches."""
DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 3)))
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
HATCHES: Final = ("", "///", "...", "\\\\\\", "xx", "++", "oo")
WIDTH: Final = 7.0
"""Inches: a page's text width."""
FORMATS: Final = ("png", "svg")

_STYLE: Final[dict[str, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "text.parse_math": False,  # a candidate may hold dollar signs
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "anselect",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw and write in one style, whatever the user's own settings; raise MissingExtraError without matplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("train", "matplotlib") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(cast(Any, _STYLE))
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of so many inches that finds room for its labels; within `figure_style` only."""
    # Not pyplot: it keeps every figure alive and looks for a screen.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def line_style(place: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a figure's line; the first 49 all differ."""
    turn = place // len(COLOURS)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[(place + turn) % len(DASHES)],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
    }


def bar_style(place: int) -> dict[str, Any]:
    """Return colour and hatch of a figure's bars; the first 49 all differ."""
    hatch = HATCHES[(place + place // len(COLOURS)) % len(HATCHES)]
    return {"facecolor": COLOURS[place % len(COLOURS)], "hatch": hatch, "edgecolor": "white", "linewidth": 0.0}


def legend_below(figure: Figure, axes: Axes, *, columns: int = 1) -> None:
    """Put the legend of one part of the figure under all of them, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=columns, handlelength=4)


def check_format(path: Path) -> str:
    """Return the format that a file's name asks for; raise UsageError for any but png and svg.

    >>> check_format(Path("map.SVG"))
    'svg'
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise UsageError(f"{path}: expected a figure's name to end in .png or .svg, got '{path.suffix}'")
    return suffix


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the file's name; it appears whole, and with the same bytes every time."""
    file_format = check_format(path)
    metadata = {"Software": None} if file_format == "png" else {"Date": None, "Creator": None}
    with figure_style(), write_bytes(path) as file:
        figure.savefig(file, format=file_format, metadata=metadata)
