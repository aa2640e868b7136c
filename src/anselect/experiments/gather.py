"""A plan's run folders in, the table of figures out: means over seeds beside printed figures, with paired tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

import numpy as np

from anselect.data.locate import read_split
from anselect.errors import AnselectError, DataError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.judgements import FloatArray
from anselect.evaluation.significance import adjust_holm, randomisation_test
from anselect.experiments.cells import Cell, Plan, Row
from anselect.experiments.run import Outcome, Status
from anselect.experiments.stored_runs import read_stored_scores
from anselect.experiments.tables import MEASURES, Column, printed_figures
from anselect.records import Question
from anselect.training.run_folder import RunFolder

SURE: Final = 0.05
AVERAGE: Final = "average"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of a row in a column."""

    values: tuple[float, ...]
    """One per seed that is finished."""
    published: float | None = None

    @property
    def mean(self) -> float | None:
        return fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over seeds; None with fewer than two."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        return None if self.mean is None or self.published is None else self.mean - self.published


@dataclass(frozen=True, slots=True)
class ResultCell:
    """A row in a column."""

    figures: Mapping[str, Figure]
    """By measure."""
    runs: tuple[Path, ...] = ()
    """The folders of the finished runs."""
    reasons: tuple[str, ...] = ()
    """Why seeds are missing."""
    is_best: bool = False
    p: float | None = None
    """Of the randomisation test against the column's best row, adjusted by Holm; None for that row."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A system."""

    label: str
    encoder: str
    """Empty for a row that only cites."""
    cells: Mapping[str, ResultCell]
    """By the column's key."""
    stands_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Everything that there is to print."""

    name: str
    title: str
    columns: Mapping[str, str]
    """Key → title, in order."""
    protocols: Mapping[str, str]
    rows: tuple[ResultRow, ...]
    questions: Mapping[str, int]
    """How many questions count, where the data is at hand."""
    notes: tuple[str, ...] = field(default=())


def gather_results(plan: Plan, outcomes: Mapping[Path, Outcome], *, data_dir: Path | None = None) -> ResultTable:
    """Read the figures that the runs hold; none is measured here, but for the tests between rows."""
    printed = {column.key: printed_figures(plan.table.paper, column.key) for column in plan.columns}
    rows = [_result_row(row, plan.columns, outcomes, printed) for row in plan.rows]
    questions: dict[str, int] = {}
    notes = []
    for column in plan.columns:
        try:
            rows, questions[column.key] = _test_column(rows, column, data_dir)
        except AnselectError as error:
            notes.append(f"No paired tests for {column.title}: {error}")
    rows += [_cited_row(label, figures, plan.columns) for label, figures in plan.table.cited.items()]
    columns = {column.key: column.title for column in plan.columns}
    if plan.table.average and len(plan.columns) > 1:
        columns[AVERAGE] = "Average"
        rows = [_with_average(row, plan.columns) for row in rows]
    return ResultTable(
        name=plan.table.name,
        title=plan.table.title,
        columns=columns,
        protocols={column.key: column.protocol.name for column in plan.columns},
        rows=tuple(rows),
        questions=questions,
        notes=(*_explain_plan(plan), *plan.table.notes, *notes),
    )


def _result_row(
    row: Row, columns: Sequence[Column], outcomes: Mapping[Path, Outcome], printed: Mapping[str, Mapping[str, Any]]
) -> ResultRow:
    cells = {}
    for column in columns:
        figure = printed[column.key].get(row.system)
        published = {"MAP": figure.map, "MRR": figure.mrr} if figure else {}
        cells[column.key] = _result_cell(row.cells[column.data], column, outcomes, published)
    return ResultRow(row.label, row.encoder, cells, row.stands_for)


def _result_cell(
    cells: Sequence[Cell], column: Column, outcomes: Mapping[Path, Outcome], published: Mapping[str, float]
) -> ResultCell:
    runs, found, reasons = [], [], []
    for cell in cells:
        outcome = outcomes[cell.folder]
        if outcome.status is Status.finished:
            try:
                found.append(_read_test_figures(cell.folder, column))
                runs.append(cell.folder)
            except DataError as error:
                reasons.append(f"seed {cell.seed}: {error}")
        else:
            reasons.append(f"seed {cell.seed}: {outcome.reason}")
    figures = {name: Figure(tuple(each[name] for each in found), published.get(name)) for name in MEASURES}
    return ResultCell(figures, tuple(runs), tuple(reasons))


def _read_test_figures(folder: Path, column: Column) -> dict[str, float]:
    path = RunFolder(folder).metrics
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))["test"][column.protocol.name]
        return {name: float(figures[name]) for name in MEASURES}
    except (ValueError, KeyError, TypeError) as error:
        message = f"expected test figures under protocol {column.protocol.name}, got {error!r}: remove the folder"
        raise DataError(message, path=path) from error


def _test_column(rows: list[ResultRow], column: Column, data_dir: Path | None) -> tuple[list[ResultRow], int]:
    """Mark the column's best row by mean MAP, and test every other against it question by question."""
    questions = read_split(column.data, "test", data_dir=data_dir)
    values, counted = {}, len(_precisions_of_nothing(questions, column))
    for place, row in enumerate(rows):
        if row.cells[column.key].runs:
            values[place] = _mean_precisions(row.cells[column.key].runs, questions, column)
    if not values:
        return rows, counted
    means = {place: rows[place].cells[column.key].figures["MAP"].mean or 0.0 for place in values}
    best = max(values, key=lambda place: means[place])
    others = [place for place in values if place != best]
    adjusted = adjust_holm([randomisation_test(values[place], values[best]).p for place in others])
    p_values = dict(zip(others, adjusted, strict=True))
    marked = [
        _replace_cell(row, column.key, replace(row.cells[column.key], is_best=place == best, p=p_values.get(place)))
        for place, row in enumerate(rows)
    ]
    return marked, counted


def _mean_precisions(runs: Sequence[Path], questions: Sequence[Question], column: Column) -> FloatArray:
    """Return each question's average precision, the mean over seeds."""
    found = []
    for run in runs:
        scores = read_stored_scores(RunFolder(run).ranking("test"), questions)
        found.append(evaluate_scores(questions, scores, protocol=column.protocol, measures=["MAP"]).values["MAP"])
    return np.asarray(np.mean(found, axis=0))


def _precisions_of_nothing(questions: Sequence[Question], column: Column) -> tuple[str, ...]:
    flat = [[0.0] * len(question.candidates) for question in questions]
    return evaluate_scores(questions, flat, protocol=column.protocol, measures=["MAP"]).question_ids


def _replace_cell(row: ResultRow, key: str, cell: ResultCell) -> ResultRow:
    return replace(row, cells={**row.cells, key: cell})


def _cited_row(
    label: str, printed: Mapping[str, tuple[float | None, float | None]], columns: Sequence[Column]
) -> ResultRow:
    cells = {
        column.key: ResultCell(
            {
                name: Figure((), value)
                for name, value in zip(MEASURES, printed.get(column.key, (None, None)), strict=True)
            }
        )
        for column in columns
    }
    return ResultRow(label, "", cells)


def _with_average(row: ResultRow, columns: Sequence[Column]) -> ResultRow:
    """Add the mean over all columns, seed by seed; nothing where a column lacks a seed."""
    figures = {}
    for name in MEASURES:
        own = [row.cells[column.key].figures[name] for column in columns]
        printed = [figure.published for figure in own if figure.published is not None]
        is_whole = len({len(figure.values) for figure in own}) == 1
        figures[name] = Figure(
            tuple(map(fmean, zip(*(figure.values for figure in own), strict=True))) if is_whole else (),
            fmean(printed) if len(printed) == len(own) else None,
        )
    return _replace_cell(row, AVERAGE, ResultCell(figures))


def _explain_plan(plan: Plan) -> list[str]:
    """Say what differs from the paper."""
    request, notes = plan.request, []
    if request.encoder:
        notes.append(f"Encoder: {Path(request.encoder).name or request.encoder} in place of the paper's.")
        kept = [row.label for row in plan.rows if row.encoder != request.encoder]
        if kept:
            notes.append(f"Kept their own vectors: {', '.join(kept)}.")
    for row in plan.rows:
        if row.stands_for:
            shown = f"its published figures are those of {row.stands_for[0]}"
            notes.append(
                f"{row.label} stands for {', '.join(row.stands_for)}: one training with this encoder; {shown}."
            )
    if request.settings:
        notes.append(f"Changed in every recipe: {', '.join(request.settings)}.")
    unsure = [column.title for column in plan.columns if not column.is_believed]
    if unsure:
        notes.append(f"Which questions the paper counts is not known for {', '.join(unsure)}: counted as is usual.")
    return notes
