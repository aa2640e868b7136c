"""Rows of one question and one candidate in, questions out; rows of one question stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from anselect.data.formats.checks import UniqueIds, shown
from anselect.errors import DataError
from anselect.records import Candidate, Question


class PairRow(NamedTuple):
    """One line of a file of pairs."""

    line: int
    question_id: str
    question: str
    candidate: Candidate
    metadata: dict[str, str] | None = None
    """What the row says of the question, or of its source, beyond the texts."""


def group_pairs(rows: Iterable[PairRow], path: Path) -> Iterator[Question]:
    """Yield one question per run of rows with the same id, one in memory at a time.

    Raises DataError when a question id comes back after another question (sort the file then), when its text changes,
    or when a candidate id occurs twice in it. The first row's metadata are the question's; others keep what differs.
    """
    ids = UniqueIds("question id", path, hint="keep the rows of one question together")
    for question_id, group in groupby(rows, key=lambda row: row.question_id):
        question_rows = list(group)
        ids.add(question_id, question_rows[0].line)
        yield _question(question_rows, path)


def _question(rows: list[PairRow], path: Path) -> Question:
    first = rows[0]
    metadata = first.metadata or {}
    ids = UniqueIds(f"candidate id in question {shown(first.question_id)}", path)
    candidates = []
    for row in rows:
        if row.question != first.question:
            message = f"expected the question text {shown(first.question)}, got {shown(row.question)}: one id, one text"
            raise DataError(message, path=path, line=row.line)
        ids.add(row.candidate.id, row.line)
        candidates.append(_with_own_metadata(row, metadata))
    return Question(first.question_id, first.question, tuple(candidates), metadata)


def _with_own_metadata(row: PairRow, shared: dict[str, str]) -> Candidate:
    if not row.metadata or row.metadata == shared:
        return row.candidate
    candidate = row.candidate
    return Candidate(candidate.id, candidate.text, candidate.label, {**candidate.metadata, **row.metadata})
