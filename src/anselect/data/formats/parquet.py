"""Parquet: flat rows (one candidate a row) or one question a row with a list of candidates; needs `pyarrow`."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from anselect.data.files import STDIN, open_binary, write_bytes
from anselect.data.formats.json_question import parse_json_question
from anselect.data.formats.rows import Row, format_cell, group_rows, parse_header, parse_row
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.errors import DataError, MissingExtraError, UsageError
from anselect.records import Question

BATCH_ROWS: Final = 8_192
"""Rows in memory at a time while reading."""
ROW_GROUP_ROWS: Final = 65_536
"""Rows in memory at a time while writing."""


def read_parquet(path: Path) -> Iterator[Question]:
    """Read the questions of a parquet file, a batch of rows at a time; see docs/data-formats.md for the columns."""
    return unique_questions(read_located_parquet(path), path)


def read_located_parquet(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with their row numbers, from 1, as lines; repeated candidate ids pass."""
    names, values = open_parquet(path)
    if "candidates" in names:
        for row, value in enumerate(values, start=1):
            question = parse_json_question(_nested(value), row, path, row)
            yield LocatedQuestion(question, row, (row,) * len(question.candidates))
    else:
        yield from group_rows(_rows(names, values, path), path)


def write_parquet(questions: Iterable[Question], path: Path) -> None:
    """Write flat rows; metadata goes into two columns of JSON text; a question without candidates gets a null one."""
    if path == STDIN:
        raise UsageError("expected a file name for parquet, got '-': parquet cannot be written to stdout")
    pyarrow, parquet = import_pyarrow()
    text = pyarrow.string()
    columns = [(name, text) for name in ("question_id", "question", "candidate_id", "candidate")]
    schema = pyarrow.schema([*columns, ("label", pyarrow.int8()), ("metadata", text), ("question_metadata", text)])
    rows = itertools.chain.from_iterable(map(_flat_rows, questions))
    with write_bytes(path) as file, parquet.ParquetWriter(file, schema) as writer:
        while group := list(itertools.islice(rows, ROW_GROUP_ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))


def import_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and its parquet module, which are an extra."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("scale", "pyarrow") from error
    return pyarrow, pyarrow.parquet


def open_parquet(path: Path) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the column names and the rows, which are read in batches when they are asked for."""
    if path == STDIN:
        raise UsageError("expected a file name for parquet, got '-': parquet cannot be read from stdin")
    pyarrow, parquet = import_pyarrow()
    broken = (pyarrow.ArrowException, OSError, UnicodeDecodeError)

    def rows() -> Iterator[dict[str, Any]]:
        batches = file.iter_batches(batch_size=BATCH_ROWS)
        with file:
            while True:
                try:
                    batch = next(batches, None)
                    found = None if batch is None else batch.to_pylist()
                except broken as error:
                    raise _damaged(path, error) from error
                if found is None:
                    return
                yield from found

    try:
        file = parquet.ParquetFile(_seekable(path))
        names = list(file.schema_arrow.names)
    except broken as error:
        raise _damaged(path, error) from error
    return names, rows()


def _seekable(path: Path) -> Path | io.BytesIO:
    """Return what parquet, which is read from its end, can be read from: the file, or a gzip file's content."""
    with open_binary(path) as file:
        return io.BytesIO(file.read()) if isinstance(cast(object, file), gzip.GzipFile) else path


def _damaged(path: Path, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:100]
    return DataError(f"expected a whole parquet file, got something else ({reason}): write it again", path=path)


def _rows(names: list[str], values: Iterable[dict[str, Any]], path: Path) -> Iterator[Row]:
    header = parse_header(names, path, None)
    for line, value in enumerate(values, start=1):
        row = parse_row([format_cell(value[name]) for name in names], header, path, line)
        yield _with_json_metadata(row)


def _with_json_metadata(row: Row) -> Row:
    """Take the two columns of JSON text apart; what is not a JSON object stays as it is."""
    columns = dict(row.candidate_metadata)
    of_candidate = _json_object(columns.get("metadata", ""))
    of_question = _json_object(columns.get("question_metadata", ""))
    if of_candidate is not None:
        del columns["metadata"]
    if of_question is not None:
        del columns["question_metadata"]
    return row._replace(
        candidate_metadata=columns | (of_candidate or {}),
        question_metadata={**row.question_metadata, **(of_question or {})},
    )


def _json_object(text: str) -> dict[str, str] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return {key: format_cell(item) for key, item in value.items()}


def _nested(value: dict[str, Any]) -> dict[str, Any]:
    """Bring a row with a list of candidates to the shape of a JSON question: metadata may be JSON text."""
    candidates = value["candidates"] if isinstance(value["candidates"], list) else []
    return _with_object(value) | {
        "id": value.get("id", value.get("question_id")),
        "candidates": [_with_object(item) if isinstance(item, dict) else item for item in candidates],
    }


def _with_object(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    if isinstance(metadata, str):
        metadata = _json_object(metadata)
    elif isinstance(metadata, list):
        metadata = dict(metadata)  # A parquet map comes as a list of pairs.
    return {key: item for key, item in value.items() if key != "question_id"} | {"metadata": metadata}


def _flat_rows(question: Question) -> Iterator[dict[str, Any]]:
    shared = {"question_id": question.id, "question": question.text, "question_metadata": _json(question.metadata)}
    if not question.candidates:
        yield shared
    for candidate in question.candidates:
        yield shared | {
            "candidate_id": candidate.id,
            "candidate": candidate.text,
            "label": candidate.label,
            "metadata": _json(candidate.metadata),
        }


def _json(metadata: Mapping[str, str]) -> str | None:
    return json.dumps(dict(metadata), ensure_ascii=False) if metadata else None
