"""A file of questions and candidates in; out come its rows as they are, in groups of one question each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from anselect.data.files import read_lines
from anselect.data.formats.checks import shown
from anselect.data.formats.csv_file import read_csv_records
from anselect.data.formats.json_question import parse_json_question
from anselect.data.formats.jsonl import read_json_values
from anselect.data.formats.parquet import open_parquet
from anselect.data.formats.rows import (
    COLUMNS,
    Header,
    Row,
    format_cell,
    has_candidate_column,
    parse_header,
    parse_row,
)
from anselect.errors import DataError, UsageError
from anselect.records import Candidate, Question

FORMATS: Final = ("tsv", "csv", "jsonl", "parquet")
ADDED: Final = ("score", "rank")

Record = dict[str, Any]


class Group(NamedTuple):
    """The rows of one question that stand together."""

    question: Question
    records: list[Record]
    """One per row; of a question with a list of candidates, one per candidate under the names of COLUMNS."""
    places: list[int | None]
    """Which candidate each record is; None for a row that stands for a question without candidates."""
    value: Record | None
    """The question with its list of candidates as it stood, None where candidates are rows of their own."""
    line: int


@dataclass(frozen=True, slots=True)
class RowGroups:
    """An opened file: the names of its columns, and its groups in order."""

    names: tuple[str, ...]
    groups: Iterator[Group]


def open_groups(path: Path, name: str) -> RowGroups:
    """Open a file of format `name` for reading once, from the first row to the last.

    Rows of one question are those that follow each other with the same question id (without ids: the same text): a
    question that comes back later is a group of its own. Raises DataError for rows that cannot be read, when they are
    reached, and for columns called score or rank, which are to be added.
    """
    if name not in FORMATS:
        raise UsageError(f"expected a format that can be scored ({', '.join(FORMATS)}), got {name}: convert the file")
    return _OPENERS[name](path)


def _open_tsv(path: Path) -> RowGroups:
    return _open_cells(((number, line.split("\t")) for number, line in read_lines(path)), path)


def _open_csv(path: Path) -> RowGroups:
    return _open_cells(read_csv_records(path), path)


def _open_cells(lines: Iterable[tuple[int, list[str]]], path: Path) -> RowGroups:
    filled = ((line, cells) for line, cells in lines if len(cells) > 1 or any(cells))
    first = next(filled, None)
    if first is None:
        message = f"expected a header line ({', '.join(COLUMNS)}), got an empty file: is this the right one?"
        raise DataError(message, path=path, line=1)
    header = parse_header(first[1], path, first[0])
    _refuse_added(header.names, path, first[0])

    def rows() -> Iterator[tuple[Row, Record]]:
        for line, cells in filled:
            yield parse_row(cells, header, path, line), dict(zip(header.names, cells, strict=False))

    return RowGroups(header.names, _group(rows(), path))


def _open_jsonl(path: Path) -> RowGroups:
    values = read_json_values(path)
    first = next(values, None)
    if first is None:
        raise DataError(
            "expected one JSON object per line, got an empty file: is this the right one?", path=path, line=1
        )
    values = itertools.chain([first], values)
    if isinstance(first[1], dict) and "candidates" not in first[1] and has_candidate_column(first[1]):
        return RowGroups(tuple(first[1]), _group(_json_rows(values, path), path))
    return RowGroups(COLUMNS, _nested_groups(values, path))


def _open_parquet(path: Path) -> RowGroups:
    names, values = open_parquet(path)
    numbered = enumerate(values, start=1)
    if "candidates" in names:
        return RowGroups(COLUMNS, _nested_groups(numbered, path))
    parse_header(names, path, None)
    return RowGroups(tuple(names), _group(_json_rows(numbered, path), path))


def _json_rows(values: Iterable[tuple[int, Any]], path: Path) -> Iterator[tuple[Row, Record]]:
    headers: dict[tuple[str, ...], Header] = {}
    for line, value in values:
        if not isinstance(value, dict):
            raise DataError(f"expected a JSON object, got {shown(value)}: correct the line", path=path, line=line)
        names = tuple(value)
        if names not in headers:
            headers[names] = parse_header(names, path, line)
            _refuse_added(names, path, line)
        yield parse_row([format_cell(cell) for cell in value.values()], headers[names], path, line), value


def _group(rows: Iterable[tuple[Row, Record]], path: Path) -> Iterator[Group]:
    keyed = itertools.groupby(rows, key=lambda pair: pair[0].question_id or pair[0].question)
    for number, (_, pairs) in enumerate(keyed, start=1):
        yield _flat_group(list(pairs), number, path)


def _flat_group(pairs: list[tuple[Row, Record]], number: int, path: Path) -> Group:
    first = pairs[0][0]
    _require_question(first.question, path, first.line)
    candidates: list[Candidate] = []
    places: list[int | None] = []
    for row, _ in pairs:
        if row.question != first.question:
            message = f"expected one text for question {shown(first.question_id)}, got {shown(row.question)} as well"
            raise DataError(f"{message}: give them different ids", path=path, line=row.line)
        is_empty = row.candidate_id == "" and row.candidate == "" and row.label is None
        places.append(None if is_empty else len(candidates))
        if not is_empty:
            candidates.append(Candidate(row.candidate_id or str(len(candidates)), row.candidate, row.label))
    question = Question(first.question_id or f"Q{number}", first.question, tuple(candidates))
    return Group(question, [record for _, record in pairs], places, None, first.line)


def _nested_groups(values: Iterable[tuple[int, Any]], path: Path) -> Iterator[Group]:
    for number, (line, value) in enumerate(values, start=1):
        question = parse_json_question(value, number, path, line)
        _require_question(question.text, path, line)
        for candidate in value.get("candidates") or ():
            if isinstance(candidate, dict):
                _refuse_added(candidate, path, line)
        records = [_record(question, candidate) for candidate in question.candidates]
        if not records:
            records = [dict.fromkeys(COLUMNS, "") | {"question_id": question.id, "question": question.text}]
        places: list[int | None] = list(range(len(question.candidates)))
        yield Group(question, records, places or [None], value, line)


def _record(question: Question, candidate: Candidate) -> Record:
    values = (question.id, question.text, candidate.id, candidate.text, candidate.label)
    return dict(zip(COLUMNS, values, strict=True))


def _require_question(text: str, path: Path, line: int) -> None:
    if not text.strip():
        raise DataError("expected a question, got blank text: fill it in or drop the row", path=path, line=line)


def _refuse_added(names: Iterable[str] | Mapping[str, Any], path: Path, line: int) -> None:
    taken = [name for name in ADDED if name in names]
    if taken:
        message = f"expected no {' or '.join(ADDED)} in the input, where they are added, got {' and '.join(taken)}"
        raise DataError(f"{message}: rename or drop it", path=path, line=line)


_OPENERS: Final = {"tsv": _open_tsv, "csv": _open_csv, "jsonl": _open_jsonl, "parquet": _open_parquet}
