"""What the command line prints: data on stdout in the format asked for, notes and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import typer

PIPE_WIDTH = 10_000
"""Characters a table may take where stdout is no terminal: a row stays one line, for grep and for tests."""


class OutputFormat(StrEnum):
    """How rows of data are printed."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    tsv = "tsv"


def print_rows(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], output_format: OutputFormat, *, title: str = ""
) -> None:
    """Print rows on stdout; a table shows the named columns, JSON shows every key of each row."""
    if output_format is OutputFormat.json:
        print_json(rows)
    elif output_format is OutputFormat.jsonl:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
    elif output_format is OutputFormat.tsv:
        typer.echo("\t".join(columns))
        for row in rows:
            typer.echo("\t".join(_cell(row.get(column)).replace("\t", " ").replace("\n", " ") for column in columns))
    else:
        print_table([[_cell(row.get(column)) for column in columns] for row in rows], columns, title=title)


def print_table(cells: Sequence[Sequence[str]], columns: Sequence[str], *, title: str = "") -> None:
    """Print a table on stdout: numbers to the right, words to the left, full width when stdout is not a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for place, column in enumerate(columns):
        is_number = all(_is_number(row[place]) for row in cells)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else PIPE_WIDTH).print(table)


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_note(message: str) -> None:
    """Print a remark on stderr, so that stdout stays data only."""
    typer.echo(f"note: {_one_line(message)}", err=True)


def print_warning(message: str) -> None:
    """Print a warning on stderr."""
    typer.echo(f"warning: {_one_line(message)}", err=True)


def print_error(message: str) -> None:
    """Print an error on stderr, in one line."""
    typer.echo(f"error: {_one_line(message)}", err=True)


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.replace(".", "", 1).removeprefix("-").rstrip("%").isdigit()
