"""`anselect data stats`: counts of the data sets on this machine beside those that the papers print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_note, print_rows, print_warning
from anselect.data.catalogue import HashStatus, dataset_names, find_dataset
from anselect.data.locate import find_sources
from anselect.data.statistics import SplitStatistics, describe_split
from anselect.errors import MissingFileError

COLUMNS = (
    *("data", "split", "version", "questions", "without_candidates", "candidates", "positives"),
    *("no_positive", "all_positive", "published_questions", "published_candidates", "source", "hash", "remark"),
)
# Narrower, for people: remarks follow below the table.
TABLE_COLUMNS = {
    **{"data": "data", "split": "split", "version": "version", "questions": "questions"},
    **{"without_candidates": "empty", "candidates": "candidates", "positives": "positives"},
    **{"no_positive": "no pos.", "all_positive": "all pos.", "published": "published", "mark": ""},
}


def stats(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets; all by default.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Count questions, candidates and positives per split, beside the papers' tables."""
    wanted = [(name, split) for name in names or dataset_names() for split in find_dataset(name).splits]
    found = _found(wanted, data_dir)
    described = [row for name, split in found for row in describe_split(name, split, data_dir)]
    if output_format is OutputFormat.table:
        print_rows([_table_row(row) for row in described], tuple(TABLE_COLUMNS.values()), output_format)
    else:
        print_rows([_row(row) for row in described], COLUMNS, output_format)
    _print_remarks(described)
    absent = [f"{name} {split}" for name, split in wanted if (name, split) not in found]
    if absent:
        print_note(f"not on this machine: {', '.join(absent)}; see 'anselect data fetch --help'")


def _found(wanted: Sequence[tuple[str, str]], data_dir: Path | None) -> list[tuple[str, str]]:
    found = list(_having_files(wanted, data_dir))
    if not found:
        # The error of the first says where it was looked for and how to get it.
        find_sources(*wanted[0], data_dir)
    return found


def _having_files(wanted: Sequence[tuple[str, str]], data_dir: Path | None) -> Iterator[tuple[str, str]]:
    for name, split in wanted:
        try:
            find_sources(name, split, data_dir)
        except MissingFileError:
            continue
        yield name, split


def _row(row: SplitStatistics) -> dict[str, Any]:
    published = row.known.published[0] if row.known.published else None
    measured = asdict(row.statistics)
    return {
        "data": row.data,
        "split": row.split,
        "version": row.version,
        **measured.pop("counts"),
        "published_questions": published.questions if published else None,
        "published_candidates": published.candidates if published else None,
        "matches_published": row.matches_published,
        "remark": row.remark or None,
        "published": [asdict(printed) for printed in row.known.published],
        **measured,
        "source": row.source.kind,
        "hash": row.source.status.name,
        "files": [
            {"path": str(file.path), "sha256": file.sha256, "hash": file.status.name} for file in row.source.files
        ],
    }


def _table_row(row: SplitStatistics) -> dict[str, Any]:
    values = _row(row) | {"mark": "*" if row.remark else "", "published": "-"}
    if row.known.published:
        values["published"] = f"{values['published_questions']} / {values['published_candidates']}"
    return {header: values[key] for key, header in TABLE_COLUMNS.items()}


def _print_remarks(described: Sequence[SplitStatistics]) -> None:
    for row in described:
        if row.remark:
            say = print_note if row.is_as_known else print_warning
            say(f"* {row.data} {row.split} ({row.version}): {row.remark}")
    pair_files = dict.fromkeys(f"{row.data} {row.split}" for row in described if row.source.kind != "original")
    if pair_files:
        print_note(f"read from pair files, for want of the publisher's: {', '.join(pair_files)}")
    for name in dict.fromkeys(row.data for row in described if row.source.status is HashStatus.copy):
        print_note(f"{name}: {HashStatus.copy.value}: {find_dataset(name).copies_are}")
