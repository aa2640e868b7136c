"""TSV with a header, one candidate a line, no quoting: `question⇥candidate⇥label` and more columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from anselect.data.files import read_lines
from anselect.data.formats.flat_records import flat_records
from anselect.data.formats.rows import group_rows, parse_records
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.data.text_target import open_text_target
from anselect.records import Question

# A tab or a line end would break the row, a NUL would make the file look binary.
_UNHOLDABLE = re.compile(r"[\t\r\n\0]")


def read_tsv(path: Path) -> Iterator[Question]:
    """Read the questions of a TSV file; quotes are plain characters; see docs/data-formats.md for the columns."""
    return unique_questions(read_located_tsv(path), path)


def read_located_tsv(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with their lines; repeated candidate ids pass."""
    records = ((number, line.split("\t")) for number, line in read_lines(path))
    return group_rows(parse_records(records, path), path)


def write_tsv(questions: Iterable[Question], path: Path) -> None:
    """Write questions; a tab, line end or NUL inside a text becomes a blank, as this format cannot hold it."""
    with open_text_target(path) as file:
        for record in flat_records(questions):
            file.write("\t".join(_UNHOLDABLE.sub(" ", cell) for cell in record) + "\n")
