"""`anselect score`: a file of questions and candidates, scored row by row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.candidates import LongCandidates, LongOption, ModelOption
from anselect.cli.output import print_note, print_warning
from anselect.data.convert import require_free
from anselect.data.files import require_file
from anselect.engine.folder import model_path
from anselect.scale.row_groups import FORMATS
from anselect.scale.score_files import ScoredFile, ScoreOptions, score_file
from anselect.scale.score_journal import describe_folder
from anselect.selector import load

FORMAT_HELP = f"One of {', '.join(FORMATS)}."


def score(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="Questions and candidates; - is stdin.")],
    target: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write; - is stdout, .gz is gzip.")],
    model: ModelOption = None,
    long: LongOption = LongCandidates.cut,
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps scores for the next time.")] = None,
    input_format: Annotated[str | None, typer.Option(help=f"{FORMAT_HELP} Detected by default.")] = None,
    output_format: Annotated[str | None, typer.Option(help=f"{FORMAT_HELP} By default OUTPUT's ending tells.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUTPUT where it is there already.")] = False,
) -> None:
    """Add score and rank (within the question) to every row of INPUT, in order, with little memory.

    Broken off, it goes on where it stopped when it is run again. Rows of one question must stand together: a question
    that comes back later is ranked as another one.
    """
    require_file(source)  # A model takes seconds to load: the user's slips come first.
    if not force:
        require_free(target)
    selector = load(model, long=long.value, cache=cache)
    print_note(f"scored by the {selector.description}")
    with _progress_bar() as progress:
        options = ScoreOptions(
            input_format=input_format,
            output_format=output_format,
            model_key=f"{describe_folder(model_path(model))} {long.value}",
            progress=progress,
        )
        scored = score_file(selector, source, target, options)
    _report(scored)


def _report(scored: ScoredFile) -> None:
    resumed = f", {scored.resumed_rows:,} of them by an earlier run" if scored.resumed_rows else ""
    print_note(f"{scored.rows:,} rows of {scored.questions:,} questions scored{resumed}")
    if scored.cut_candidates:
        print_warning(f"{scored.cut_candidates:,} candidates were longer than the model reads and were cut")


@contextmanager
def _progress_bar() -> Iterator[Callable[[int], None] | None]:
    """Show the finished rows on stderr; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.SpinnerColumn(), progress.TextColumn("{task.completed:,} rows"), progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda rows: bar.update(task, completed=rows)
