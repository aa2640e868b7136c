"""A plan in, its trainings run out: finished ones are left alone, a failing one says why and the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from anselect.config import Recipe
from anselect.errors import AnselectError
from anselect.experiments.budget import TimeBook, fitting
from anselect.experiments.cells import Cell
from anselect.training.run_folder import RunFolder, read_recipe

FAILURES: Final = (AnselectError, OSError, RuntimeError, ValueError, MemoryError)
"""What one training may die of (no data, no encoder, no memory, a full disk) without ending the others."""
SECONDS_PER_HOUR: Final = 3600.0

Train = Callable[[Recipe, Path], object]
"""Trains a recipe into a folder; a finished or begun one is taken up."""
Say = Callable[[str], None]


class Status(StrEnum):
    """What became of a cell; the value says it in words."""

    finished = "finished"
    failed = "failed"
    left_out = "left out: it does not fit into --budget"
    not_run = "not run yet"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a cell, and why."""

    status: Status
    reason: str = ""


def find_outcome(cell: Cell) -> Outcome:
    """Tell from its folder whether a cell is finished; one that holds another recipe's figures counts as failed."""
    run = RunFolder(cell.folder)
    if not run.is_finished:
        return Outcome(Status.not_run, Status.not_run.value)
    try:
        is_own = read_recipe(run) == cell.recipe
    except (AnselectError, OSError) as error:
        return Outcome(Status.failed, _one_line(error))
    if is_own:
        return Outcome(Status.finished)
    return Outcome(
        Status.failed, f"{cell.folder} holds a run of other settings: choose another --output or remove the folder"
    )


def run_cells(
    cells: Sequence[Cell], train: Train, book: TimeBook, *, hours: float | None = None, say: Say
) -> dict[Path, Outcome]:
    """Train what is not finished, in order; with `hours`, what fits, judged anew before each by the speed so far."""
    outcomes = {cell.folder: find_outcome(cell) for cell in cells}
    waiting = [cell for cell in cells if outcomes[cell.folder].status is Status.not_run]
    if hours is not None:
        _announce(waiting, book, hours, say)
    start, done, total = time.monotonic(), 0, len(waiting)
    while waiting:
        seconds_left = None if hours is None else hours * SECONDS_PER_HOUR - (time.monotonic() - start)
        cell = _next_fitting(waiting, book, seconds_left)
        if cell is None:
            break
        waiting.remove(cell)
        done += 1
        say(f"cell {done} of {total}: {cell.folder}")
        outcomes[cell.folder] = _run(cell, train, book)
        if outcomes[cell.folder].status is Status.failed:
            say(f"{cell.folder}: {outcomes[cell.folder].reason}")
    return outcomes | {cell.folder: Outcome(Status.left_out, Status.left_out.value) for cell in waiting}


def count_outcomes(outcomes: Mapping[Path, Outcome]) -> dict[Status, int]:
    """Count the cells by what became of them."""
    return {status: sum(each.status is status for each in outcomes.values()) for status in Status}


def _next_fitting(waiting: Sequence[Cell], book: TimeBook, seconds_left: float | None) -> Cell | None:
    """Return the first that fits; one that did not may do so after others were faster than thought."""
    if seconds_left is None:
        return waiting[0]
    if seconds_left <= 0:
        return None
    return next((cell for cell in waiting if (book.expected_seconds(cell) or 0.0) <= seconds_left), None)


def _announce(waiting: Sequence[Cell], book: TimeBook, hours: float, say: Say) -> None:
    chosen = fitting(waiting, book, hours * SECONDS_PER_HOUR)
    known = [book.expected_seconds(cell) for cell in chosen]
    expected = sum(seconds for seconds in known if seconds is not None) / SECONDS_PER_HOUR
    unknown = known.count(None)
    say(
        f"{len(chosen)} of {len(waiting)} trainings to do fit into {hours:g} h, about {expected:.1f} h"
        + (f", and {unknown} of them of unknown length" if unknown else "")
    )
    names = [str(cell.folder) for cell in waiting if cell not in chosen]
    if names:
        say(f"left out for want of time: {', '.join(names)}")


def _run(cell: Cell, train: Train, book: TimeBook) -> Outcome:
    is_fresh = not RunFolder(cell.folder).has_begun
    start = time.monotonic()
    try:
        train(cell.recipe, cell.folder)
    except FAILURES as error:
        return Outcome(Status.failed, _one_line(error))
    if is_fresh:
        book.enter(cell, time.monotonic() - start)
    return find_outcome(cell)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, AnselectError) else f"{type(error).__name__}: {text}"
