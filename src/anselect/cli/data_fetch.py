"""`anselect data fetch`: a data set from its publisher, after its licence was shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.output import print_note
from anselect.data.catalogue import Dataset, HashStatus, find_dataset
from anselect.data.download import Progress
from anselect.data.fetch import FetchedFile, Fetching, fetch_dataset
from anselect.data.locate import data_roots


def fetch(
    name: Annotated[str, typer.Argument(help="The data set, as 'anselect data list' calls it.")],
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Where to put it: DATA_DIR/NAME. Default: $ANSELECT_DATA, else the user's cache."),
    ] = None,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Accept the terms that are shown; do not ask.")
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            envvar="ANSELECT_MIRROR", help="A mirror that holds BASE_URL/NAME/FILE, instead of the publisher."
        ),
    ] = None,
) -> None:
    """Download a data set; broken downloads go on where they stopped; prints the path of each file."""
    dataset = find_dataset(name)
    _show_terms(dataset)
    if not accept_licence and sys.stdin.isatty() and not typer.confirm("Download under these terms?", err=True):
        print_note("the terms were not accepted: nothing was downloaded")
        raise typer.Exit(2)
    with _progress_bar() as progress:
        fetched = fetch_dataset(name, data_roots(data_dir)[0], Fetching(base_url=base_url, progress=progress))
    _report(dataset, fetched)


def _show_terms(dataset: Dataset) -> None:
    print_note(f"{dataset.title} ({dataset.homepage})")
    print_note(f"licence: {dataset.licence}. {dataset.notice}")
    print_note(f"cite: {' '.join(dataset.citations)}")


def _report(dataset: Dataset, fetched: list[FetchedFile]) -> None:
    for file in fetched:
        typer.echo(str(file.path))
        state = "was there" if file.was_there else "fetched"
        if file.status is not HashStatus.published:
            print_note(f"{file.path.name}: {state}; {file.status.value}; its sha256 is {file.sha256}")
    others = {data for split in dataset.splits.values() for data, _ in split.parts} - {dataset.name}
    for other in sorted(others):
        print_note(f"some splits of {dataset.name} are those of {other}: anselect data fetch {other}")


@contextmanager
def _progress_bar() -> Iterator[Progress | None]:
    """Show a bar for each file on stderr; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.DownloadColumn())
    with progress.Progress(*columns, progress.TransferSpeedColumn(), console=Console(stderr=True)) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def show(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name)
            bar.update(tasks[name], completed=done, total=total)

        yield show
