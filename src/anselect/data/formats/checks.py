"""What the benchmark readers and writers demand of labels, ids and texts, with the one-line errors for the rest."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from anselect.errors import DataError
from anselect.records import Candidate, Question

logger = logging.getLogger(__name__)

_WHITE_SPACE = re.compile(r"\s+")
_BREAKS = frozenset("\t\n\r")


def shown(value: object) -> str:
    """Return a value as an error message shows it: quoted, on one line, not long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…{text[-1]}"


def parse_label(text: str, *, path: Path, line: int) -> int:
    """Return 0 or 1, or raise DataError."""
    if text not in {"0", "1"}:
        raise DataError(f"expected label 0 or 1, got {shown(text)}: correct this row", path=path, line=line)
    return int(text)


def parse_id(text: str | None, what: str, *, path: Path, line: int) -> str:
    """Return the id, or raise DataError when it is empty."""
    if not text:
        raise DataError(f"expected a {what}, got none: every row needs one", path=path, line=line)
    return text


class UniqueIds:
    """Remembers the ids of one kind in one file and refuses a second use."""

    def __init__(self, what: str, path: Path, *, hint: str = "ids must be unique") -> None:
        self._what, self._path, self._hint = what, path, hint
        self._seen: set[str] = set()

    def add(self, new_id: str, line: int | None) -> str:
        """Return the id if it is new; raise DataError otherwise."""
        if new_id in self._seen:
            message = f"expected a new {self._what}, got {shown(new_id)} again: {self._hint}"
            raise DataError(message, path=self._path, line=line)
        self._seen.add(new_id)
        return new_id


def at_least_one(questions: Iterable[Question], path: Path, *, line: int | None = 1) -> Iterator[Question]:
    """Pass the questions on; raise DataError at the end if there were none."""
    count = 0
    for question in questions:
        count += 1
        yield question
    if not count:
        raise DataError("expected at least one question, got none: is this the right file?", path=path, line=line)


def with_candidates(questions: Iterable[Question], path: Path) -> Iterator[Question]:
    """Pass on the questions that a file of pairs can hold; those without a candidate are counted in a warning."""
    left_out = 0
    for question in questions:
        if question.candidates:
            yield question
        else:
            left_out += 1
    if left_out:
        logger.warning("%s: %d questions without candidates left out: this format has no row for them", path, left_out)


def single_line(text: str) -> str:
    """Return the text with each run of white space that holds a tab or a line break made one blank.

    >>> single_line("two  blanks stay, a tab\\tand a \\n\\n break do not ")
    'two  blanks stay, a tab and a break do not '
    """
    if _BREAKS.isdisjoint(text):
        return text
    return _WHITE_SPACE.sub(lambda run: run[0] if _BREAKS.isdisjoint(run[0]) else " ", text)


def plain_id(value: str, *, forbidden: str, path: Path) -> str:
    """Return an id that the target can hold as it is; raise DataError when it is empty or has a forbidden sign."""
    if not value or any(sign in value for sign in forbidden + "\t\n\r"):
        signs = ", ".join(repr(sign) for sign in forbidden) or "tabs or line breaks"
        raise DataError(f"expected an id without {signs}, got {shown(value)}: rename it", path=path)
    return value


def needed_label(question: Question, candidate: Candidate, path: Path) -> int:
    """Return the label for a format that needs one; raise DataError when it is not known."""
    if candidate.label not in {0, 1}:
        place = f"question {shown(question.id)}, candidate {shown(candidate.id)}"
        message = f"{place}: expected label 0 or 1, got {candidate.label}: this format needs labels, choose another"
        raise DataError(message, path=path)
    return candidate.label
