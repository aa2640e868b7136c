"""`anselect reproduce`: a paper's table in, our figures beside the printed ones out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anselect.cli.output import print_note, print_table
from anselect.errors import AnselectError, MissingExtraError, PartlyDoneError

if TYPE_CHECKING:
    from anselect.config import Recipe
    from anselect.experiments.cells import Cell, Plan
    from anselect.experiments.run import Outcome
    from anselect.experiments.sheet import Sheet


class TableFormat(StrEnum):
    """How a paper's table is printed."""

    table = "table"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"


def reproduce(
    table: Annotated[
        str, typer.Argument(help="A table's name, as bas-table6; none lists them.", show_default=False)
    ] = "",
    encoder: Annotated[str, typer.Option(help="Encoder in place of the paper's.", metavar="NAME")] = "",
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Trainings of each system, seeds 0 to N - 1.")] = 1,
    data: Annotated[list[str] | None, typer.Option(help="Only this data set; may be repeated.", metavar="NAME")] = None,
    systems: Annotated[str, typer.Option(help="Only rows that match, as '*rnn*'.", metavar="PATTERN")] = "",
    budget: Annotated[float | None, typer.Option(min=0, help="Run only what fits into so many hours.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change one key of every recipe.", metavar="SECTION.KEY=VALUE")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where the run folders go.")] = Path("runs/reproduce"),
    output_format: Annotated[TableFormat, typer.Option("--format", help="How to print.")] = TableFormat.table,
    dry_run: Annotated[bool, typer.Option(help="Show what would be trained, what is finished, and estimates.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
) -> None:
    """Train what a paper's table needs and print it with our figures; the same command again goes on.

    \b
    Examples:
      anselect reproduce bas-table4
      anselect reproduce bas-table6 --encoder all-MiniLM-L6-v2 --data wikiqa --seeds 3
      anselect reproduce cete-table3 --systems 'features*' --budget 2 --dry-run
    """
    from anselect.experiments.cells import Request, plan_table
    from anselect.experiments.tables import find_table

    if not table:
        _list_tables()
        return
    definition = find_table(table)
    if definition.kind == "data":
        from anselect.experiments.data_tables import count_data

        _print_sheet(count_data(definition, data or (), data_dir=data_dir), output_format)
        return
    request = Request(encoder, seeds, tuple(data or ()), systems, tuple(settings or ()), output)
    plan = plan_table(definition, request)
    if dry_run:
        _show_plan(plan, data_dir, budget)
        return
    _make_table(plan, data_dir, budget, output_format)


def _list_tables() -> None:
    from anselect.experiments.tables import find_table, table_names

    print_table([[name, find_table(name).title] for name in table_names()], ["table", "what it shows"])


def _make_table(plan: Plan, data_dir: Path | None, budget: float | None, output_format: TableFormat) -> None:
    from anselect.experiments.gather import gather_results
    from anselect.experiments.sheet import lay_out

    outcomes = _run(plan, data_dir, budget)
    _print_sheet(lay_out(gather_results(plan, outcomes, data_dir=data_dir)), output_format)
    if plan.table.kind == "heat-maps":
        _draw(plan, outcomes, data_dir)
    _raise_if_partly_done(outcomes)


def _run(plan: Plan, data_dir: Path | None, budget: float | None) -> dict[Path, Outcome]:
    from anselect.experiments.budget import TIMES, TimeBook
    from anselect.experiments.run import run_cells

    try:
        from anselect.cli.train_progress import ProgressBar
        from anselect.training.train import train
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error

    def train_cell(recipe: Recipe, folder: Path) -> object:
        return train(recipe, folder, data_dir=data_dir, callbacks=[ProgressBar()])

    book = TimeBook(plan.request.output / TIMES, lambda cell: _estimate_seconds(cell, data_dir))
    try:
        return run_cells(plan.cells, train_cell, book, hours=budget, say=print_note)
    except KeyboardInterrupt:
        print_note("what was trained is kept: the same command goes on from there")
        raise


def _estimate_seconds(cell: Cell, data_dir: Path | None) -> float | None:
    """Estimate a training's length; None where its data or encoder is not at hand."""
    try:
        from anselect.training.plan import plan_training
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    try:
        minutes = plan_training(cell.recipe, data_dir=data_dir).get("estimated_minutes")
    except AnselectError:
        return None
    return None if minutes is None else 60.0 * float(minutes)


def _show_plan(plan: Plan, data_dir: Path | None, budget: float | None) -> None:
    from anselect.experiments.budget import TIMES, TimeBook, fitting
    from anselect.experiments.run import SECONDS_PER_HOUR, Status, find_outcome

    book = TimeBook(plan.request.output / TIMES, lambda cell: _estimate_seconds(cell, data_dir))
    found = {cell.folder: find_outcome(cell) for cell in plan.cells}
    waiting = [cell for cell in plan.cells if found[cell.folder].status is Status.not_run]
    chosen = waiting if budget is None else fitting(waiting, book, budget * SECONDS_PER_HOUR)
    lines = []
    for cell in plan.cells:
        outcome = found[cell.folder]
        seconds = book.expected_seconds(cell) if cell in waiting else None
        does = "train" if cell in chosen else Status.left_out.value if cell in waiting else outcome.status.value
        minutes = "-" if seconds is None else f"{seconds / 60:.1f}"
        lines.append([cell.folder.as_posix(), does, minutes])
    print_table(lines, ["run", "what happens", "minutes"], title=plan.table.title)


def _draw(plan: Plan, outcomes: Mapping[Path, Outcome], data_dir: Path | None) -> None:
    from anselect.experiments.heat_maps import draw_heat_maps
    from anselect.experiments.run import Status

    finished = [cell.folder for cell in plan.cells if outcomes[cell.folder].status is Status.finished]
    for path in draw_heat_maps(plan.request.output / "figures", finished, data_dir=data_dir):
        print_note(f"figure: {path}")


def _print_sheet(sheet: Sheet, output_format: TableFormat) -> None:
    from anselect.experiments.render import FORMATS, plain_entry

    if output_format is not TableFormat.table:
        typer.echo(FORMATS[output_format.value](sheet), nl=False)
        return
    print_table([[plain_entry(entry) for entry in line] for line in sheet.lines], sheet.headers, title=sheet.title)
    for caption in sheet.captions:
        typer.echo(caption)
    for number, footnote in enumerate(sheet.footnotes, start=1):
        typer.echo(f"[{number}] {footnote}")
    for line in sheet.lines:
        for link in dict.fromkeys(entry.link for entry in line if entry.link):
            typer.echo(f"{line[0].text}: {link}")


def _raise_if_partly_done(outcomes: Mapping[Path, Outcome]) -> None:
    from anselect.experiments.run import Status, count_outcomes

    counts = count_outcomes(outcomes)
    if counts[Status.finished] == len(outcomes):
        return
    failed, left_out = counts[Status.failed], counts[Status.left_out]
    raise PartlyDoneError(
        f"{counts[Status.finished]} of {len(outcomes)} trainings are finished, {failed} failed, {left_out} left out: "
        "the footnotes say why, the same command tries the rest again"
    )
