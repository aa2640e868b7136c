"""TSV with a header, one candidate a line, no quoting: `question⇥candidate⇥label` and more columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from anselect.data.files import read_lines
from anselect.data.formats.checks import single_line
from anselect.data.formats.flat_records import flat_records
from anselect.data.formats.rows import group_rows, parse_records
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.data.text_target import open_text_target
from anselect.records import Question


def read_tsv(path: Path) -> Iterator[Question]:
    """Read the questions of a TSV file; quotes are plain characters; see docs/data-formats.md for the columns."""
    return unique_questions(read_located_tsv(path), path)


def read_located_tsv(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with their lines; repeated candidate ids pass."""
    records = ((number, line.split("\t")) for number, line in read_lines(path))
    return group_rows(parse_records(records, path), path)


def write_tsv(questions: Iterable[Question], path: Path) -> None:
    """Write questions; white space with a tab or a line end in it, and NUL, become a blank: TSV cannot hold them."""
    with open_text_target(path) as file:
        for record in flat_records(questions):
            file.write("\t".join(single_line(cell).replace("\0", " ") for cell in record) + "\n")
