"""`anselect data list`: the named data sets, and which splits of them are on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_note, print_rows
from anselect.data.catalogue import dataset_names, find_dataset
from anselect.data.locate import existing_roots, find_sources
from anselect.errors import MissingFileError

COLUMNS = ("data", "title", "found", "missing", "where", "licence")


def list_data(
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """List the data sets: titles, splits, where they are on this machine, licences."""
    roots = existing_roots(data_dir)
    rows = [_row(name, data_dir) for name in dataset_names()]
    if output_format in {OutputFormat.table, OutputFormat.tsv}:
        rows = [{key: _joined(value) for key, value in row.items()} for row in rows]
    print_rows(rows, COLUMNS, output_format)
    print_note(f"searched in {', '.join(map(str, roots))}; get a data set with 'anselect data fetch NAME'")


def _row(name: str, data_dir: Path | None) -> dict[str, Any]:
    dataset = find_dataset(name)
    folders = {split: _folders(name, split, data_dir) for split in dataset.splits}
    return {
        "data": name,
        "title": dataset.title,
        "found": [split for split, found in folders.items() if found],
        "missing": [split for split, found in folders.items() if not found],
        "where": list(dict.fromkeys(folder for found in folders.values() for folder in found)),
        "licence": dataset.licence,
        "notice": dataset.notice,
        "homepage": dataset.homepage,
        "citations": list(dataset.citations),
    }


def _folders(name: str, split: str, data_dir: Path | None) -> list[str]:
    try:
        return [str(found.folder) for found in find_sources(name, split, data_dir)]
    except MissingFileError:
        return []


def _joined(value: str | Iterable[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value) or "-"
