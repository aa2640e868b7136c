"""Finished runs in, word-by-word heat maps out, by way of the package's drawing functions where they are installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from anselect.errors import UsageError

DRAWERS: Final = {"heat-maps": ("anselect.experiments.figures", "draw_heat_maps")}
"""Kind of table → module and function `(folder, run)` that draws it."""


def find_drawer(kind: str) -> Callable[[Path, Path], Any]:
    """Return the function that draws a kind of figure; raise UsageError where this version has none."""
    module_name, function = DRAWERS[kind]
    try:
        found = getattr(importlib.import_module(module_name), function, None)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        found = None
    if found is None:
        raise UsageError(f"this version draws no {kind}: the runs are trained, their figures are not")
    return found  # type: ignore[no-any-return]


def draw_runs(kind: str, runs: Iterable[Path], folder: Path) -> list[Path]:
    """Draw each finished run into a folder of its own below `folder`; return those folders."""
    draw = find_drawer(kind)
    drawn = []
    for run in runs:
        # RECIPE/ENCODER/DATA/SEED names a run among those of a table.
        place = folder / "-".join(run.parts[-4:])
        draw(place, run)
        drawn.append(place)
    return drawn
