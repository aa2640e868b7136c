"""CSV with a header, one candidate a record, quoted as in RFC 4180: texts may hold commas, quotes and line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from anselect.data.files import open_binary
from anselect.data.formats.flat_records import flat_records
from anselect.data.formats.rows import group_rows, parse_records
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Question

MAX_FIELD_CHARACTERS: Final = 2**24
"""The csv module stops at 131,072; without any stop an unclosed quote would swallow the rest of the file."""


def read_csv(path: Path) -> Iterator[Question]:
    """Read the questions of a CSV file; see docs/data-formats.md for the columns."""
    return unique_questions(read_located_csv(path), path)


def read_located_csv(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with the lines on which their records begin; repeated candidate ids pass."""
    return group_rows(parse_records(read_csv_records(path), path), path)


def write_csv(questions: Iterable[Question], path: Path) -> None:
    """Write questions; only a NUL becomes a blank, because a reader would take the file for binary."""
    with open_text_target(path) as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerows([cell.replace("\0", " ") for cell in record] for record in flat_records(questions))


def read_csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line on which it begins, the header first."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    reader = csv.reader(_lines(path), strict=True)
    while True:
        first_line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            message = f"expected CSV quoted as in RFC 4180, got a record that is not ({error}): is a quote not closed?"
            raise DataError(message, path=path, line=first_line) from error
        if cells is None:
            return
        yield first_line, cells


def _lines(path: Path) -> Iterator[str]:
    """Yield lines with their ends, which belong to the text inside quotes (`files.read_lines` takes them off)."""
    with open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                message = f"expected utf-8 text, got byte 0x{line[error.start]:02x}: convert the file to utf-8"
                raise DataError(message, path=path, line=number) from error
            if "\0" in text:
                message = "expected text, got binary data (a NUL byte): is this the right file?"
                raise DataError(message, path=path, line=number)
            yield text
