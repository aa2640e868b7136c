"""Flat rows (one candidate a row) to questions: which column is what, and which rows belong together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from anselect.data.formats.checks import shown
from anselect.data.located import LocatedQuestion
from anselect.errors import DataError
from anselect.records import Candidate, Question

COLUMNS: Final = ("question_id", "question", "candidate_id", "candidate", "label")
"""The columns that every flat file of ours has when it is written, in this order."""

# Other names that users' files have for the same thing, compared without case, blanks, `_` and `-`.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "question_id": ("qid", "query_id"),
    "question": ("query",),
    "candidate_id": ("answer_id", "sentence_id", "passage_id", "comment_id"),
    "candidate": ("answer", "sentence", "text", "passage", "document", "comment"),
    "label": (),
}
QUESTION_PREFIX: Final = "question."
CANDIDATE_PREFIX: Final = "candidate."
LABELS: Final[Mapping[str, int | None]] = {"": None, "0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
"""What a label cell may say; pandas writes 1.0 where some labels of a column are missing, True for booleans."""

WINDOW_ROWS: Final = 100_000
"""How many rows are held so that scattered rows of one question come together."""


class Row(NamedTuple):
    """One candidate of one question as a flat file says it; None is a column that the file does not have."""

    line: int
    question_id: str | None
    question: str
    candidate_id: str | None
    candidate: str
    label: int | None
    question_metadata: Mapping[str, str]
    candidate_metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Header:
    """The place of each column in a row."""

    names: tuple[str, ...]
    places: Mapping[str, int]
    """Place by the names of COLUMNS; only those that the file has."""
    question_metadata: tuple[tuple[str, int], ...]
    candidate_metadata: tuple[tuple[str, int], ...]


def parse_header(names: Sequence[str], path: Path, line: int | None = 1) -> Header:
    """Find the columns; what is neither known nor an alias is metadata under its own name.

    >>> parse_header(["qid", "query", "answer", "label", "source"], Path("a.tsv")).candidate_metadata
    (('source', 4),)
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise DataError(f"expected every column once, got {twice!r} twice: rename one of them", path=path, line=line)
    places = {column: place for column in COLUMNS if (place := _find_column(column, names, path, line)) is not None}
    for column in ("question", "candidate"):
        if column not in places:
            raise DataError(_missing_column(column, names), path=path, line=line)
    others = [(name, place) for place, name in enumerate(names) if place not in places.values()]
    return Header(
        names=tuple(names),
        places=places,
        question_metadata=tuple(
            (name.removeprefix(QUESTION_PREFIX), place) for name, place in others if name.startswith(QUESTION_PREFIX)
        ),
        candidate_metadata=tuple(
            (name.removeprefix(CANDIDATE_PREFIX), place)
            for name, place in others
            if not name.startswith(QUESTION_PREFIX)
        ),
    )


def has_candidate_column(names: Iterable[str]) -> bool:
    """Say whether one of the names is the candidate column or an alias of it."""
    return not {_plain(name) for name in ("candidate", *ALIASES["candidate"])}.isdisjoint(map(_plain, names))


def format_cell(value: object) -> str:
    """Return a typed value as the text of a cell: nothing for None and NaN, JSON for all but strings.

    >>> [format_cell(value) for value in ("a", None, True, 1.0, ["b"])]
    ['a', '', 'true', '1.0', '["b"]']
    """
    if isinstance(value, str):
        return value
    is_missing = value is None or value != value
    return "" if is_missing else json.dumps(value, ensure_ascii=False, default=str)


def parse_row(cells: Sequence[str], header: Header, path: Path, line: int) -> Row:
    """Read one row; raises DataError for a missing cell, an empty question id or a label other than 0 and 1."""
    if len(cells) != len(header.names):
        raise DataError(
            f"expected {len(header.names)} cells ({', '.join(header.names)}), got {len(cells)}: "
            f"{'fill in the missing cell' if len(cells) < len(header.names) else 'is a separator inside a text?'}",
            path=path,
            line=line,
        )
    places = header.places
    question_id = cells[places["question_id"]] if "question_id" in places else None
    if question_id is not None and not question_id.strip():
        raise DataError(
            "expected a question id, got an empty cell: fill it in or drop the column", path=path, line=line
        )
    return Row(
        line=line,
        question_id=question_id,
        question=cells[places["question"]],
        candidate_id=cells[places["candidate_id"]] if "candidate_id" in places else None,
        candidate=cells[places["candidate"]],
        label=parse_label(cells[places["label"]], path, line) if "label" in places else None,
        question_metadata=_metadata(cells, header.question_metadata),
        candidate_metadata=_metadata(cells, header.candidate_metadata),
    )


def parse_label(cell: str, path: Path, line: int | None) -> int | None:
    """Return 1, 0 or None (an empty cell: not known); anything else is a DataError."""
    label = cell.strip().lower()
    if label not in LABELS:
        raise DataError(
            f"expected label 0 or 1 (empty: not known), got {shown(cell)}: map your grades to 0 and 1",
            path=path,
            line=line,
        )
    return LABELS[label]


def parse_records(records: Iterable[tuple[int, Sequence[str]]], path: Path) -> Iterator[Row]:
    """Turn numbered records, the header first, into rows; an empty record (a blank line) is passed over."""
    header = None
    for line, cells in records:
        if not any(cells) and len(cells) <= 1:
            continue
        if header is None:
            header = parse_header(cells, path, line)
        else:
            yield parse_row(cells, header, path, line)
    if header is None:
        message = f"expected a header line ({', '.join(COLUMNS)}), got an empty file: is this the right one?"
        raise DataError(message, path=path, line=1)


def group_rows(rows: Iterable[Row], path: Path, *, window_rows: int = WINDOW_ROWS) -> Iterator[LocatedQuestion]:
    """Gather the rows of each question, in the order in which questions first appear.

    Rows belong together by question id or, in a file without ids, by the exact question text; they need not be
    neighbours. No more than `window_rows` rows are held: in a longer file a question whose rows lie further apart
    is a DataError, never two half questions.
    """
    held: dict[str, _Group] = {}
    left: dict[str, int] = {}
    held_rows = 0
    for row in rows:
        key = row.question if row.question_id is None else row.question_id
        if key in left:
            raise DataError(_too_far_apart(row, left[key], window_rows), path=path, line=row.line)
        group = held.get(key)
        if group is None:
            group = held[key] = _Group(row.question_id or f"Q{len(left) + len(held) + 1}", row)
        group.add(row, path)
        held_rows += 1
        while held_rows > window_rows and (oldest := next(iter(held))) != key:
            done = held.pop(oldest)
            left[oldest] = done.first.line
            held_rows -= done.rows
            yield done.located()
    for group in held.values():
        yield group.located()


@dataclass(slots=True)
class _Group:
    """The rows of one question while they are gathered."""

    id: str
    first: Row
    candidates: list[Candidate] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    rows: int = 0

    def add(self, row: Row, path: Path) -> None:
        self.rows += 1
        if row.question != self.first.question:
            raise DataError(
                f"expected one text for question {self.id!r}, got {shown(row.question)} here and "
                f"{shown(self.first.question)} on line {self.first.line}: give them different ids",
                path=path,
                line=row.line,
            )
        if row.candidate_id == "" and row.candidate == "" and row.label is None:
            return  # An empty candidate with an id column: the row stands for a question without candidates.
        candidate_id = row.candidate_id or f"{self.id}-{len(self.candidates)}"
        self.candidates.append(Candidate(candidate_id, row.candidate, row.label, row.candidate_metadata))
        self.lines.append(row.line)

    def located(self) -> LocatedQuestion:
        question = Question(self.id, self.first.question, tuple(self.candidates), self.first.question_metadata)
        return LocatedQuestion(question, self.first.line, tuple(self.lines))


def _find_column(column: str, names: Sequence[str], path: Path, line: int | None) -> int | None:
    if column in names:
        return names.index(column)
    for wanted in ({_plain(column)}, {_plain(alias) for alias in ALIASES[column]}):
        found = [place for place, name in enumerate(names) if _plain(name) in wanted]
        if len(found) > 1:
            raise DataError(
                f"expected one {column} column, got {' and '.join(repr(names[place]) for place in found)}: "
                f"rename the right one to {column!r}",
                path=path,
                line=line,
            )
        if found:
            return found[0]
    return None


def _missing_column(column: str, names: Sequence[str]) -> str:
    known = ", ".join((column, *ALIASES[column]))
    got = shown(", ".join(names))
    return f"expected a header with a {column} column ({known}), got {got}: add the header or rename the column"


def _too_far_apart(row: Row, first_line: int, window_rows: int) -> str:
    return (
        f"expected the rows of a question within {window_rows:,} rows of each other, got question "
        f"{shown(row.question_id or row.question)} of line {first_line} again: sort the file by question"
    )


def _metadata(cells: Sequence[str], columns: tuple[tuple[str, int], ...]) -> Mapping[str, str]:
    return {name: cells[place] for name, place in columns if cells[place]}


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character not in " _-")
