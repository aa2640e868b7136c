"""Groups of rows with their scores in, the bytes of the output out; parquet is made of lines of JSON at the end."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anselect.data.files import read_lines, write_bytes
from anselect.data.formats.checks import single_line
from anselect.data.formats.parquet import ROW_GROUP_ROWS, import_pyarrow
from anselect.data.formats.rows import format_cell
from anselect.errors import DataError
from anselect.scale.row_groups import ADDED, Group, Record

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
NO_SCORE: Final[tuple[None, None]] = (None, None)


def rank_scores(scores: Sequence[float]) -> list[int]:
    """Return the place of each score, from 1, the highest first; equal scores keep their order.

    >>> rank_scores([0.2, 0.9, 0.2])
    [2, 1, 3]
    """
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    ranks = [0] * len(scores)
    for rank, place in enumerate(order, start=1):
        ranks[place] = rank
    return ranks


class RowWriter:
    """Turns scored groups into bytes of one format; a file can be cut behind any chunk and go on from there."""

    def __init__(self, output_format: str, names: Sequence[str], *, is_zipped: bool = False) -> None:
        self._names, self._is_zipped = tuple(names), is_zipped
        self._lines = _LINES[output_format]
        self._has_header = output_format in {"tsv", "csv"}
        self._has_columns = output_format != "jsonl"

    def header(self) -> bytes:
        """Return what the file begins with."""
        return self._packed(self._line([*self._names, *ADDED])) if self._has_header else b""

    def chunk(self, groups: Sequence[Group], scores: Sequence[Sequence[float]], path: Path) -> bytes:
        """Return the rows of these groups with score and rank."""
        return self._packed("".join(self._texts(groups, scores, path)))

    def _texts(self, groups: Sequence[Group], scores: Sequence[Sequence[float]], path: Path) -> Iterator[str]:
        for group, own in zip(groups, scores, strict=True):
            places = list(zip(own, rank_scores(own), strict=True))
            if self._has_columns:
                self._require_columns(group, path)
            if self._has_header:
                for record, added in _scored_records(group, places):
                    yield self._line([*(format_cell(record[name]) for name in self._names), *map(format_cell, added)])
            else:
                yield from self._lines(group, places)

    def _require_columns(self, group: Group, path: Path) -> None:
        """Refuse lines of JSON with other keys than the first one has: nothing may be lost."""
        for record in group.records:
            if len(record) != len(self._names) or any(name not in record for name in self._names):
                message = f"expected the keys {', '.join(self._names)}, got {', '.join(record)}"
                raise DataError(f"{message}: write .jsonl, where they may differ", path=path, line=group.line)

    def _line(self, cells: Sequence[str]) -> str:
        return "".join(self._lines(cells, ()))

    def _packed(self, text: str) -> bytes:
        content = _SURROGATE.sub("\ufffd", text).encode()
        # A gzip file may be made of several: each chunk is one, so that a cut file goes on behind the last whole one.
        return gzip.compress(content, mtime=0) if self._is_zipped and content else content


def write_parquet_rows(lines: Path, target: Path, names: Sequence[str]) -> None:
    """Write lines of JSON, one row each, as parquet: texts, but for the label, the score and the rank."""
    pyarrow, parquet = import_pyarrow()
    types = {"label": pyarrow.int8(), "score": pyarrow.float64(), "rank": pyarrow.int64()}
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in (*names, *ADDED)])
    rows = (_parquet_row(json.loads(line)) for _, line in read_lines(lines))
    with write_bytes(target) as file, parquet.ParquetWriter(file, schema) as writer:
        while batch := list(itertools.islice(rows, ROW_GROUP_ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))


def _parquet_row(record: Mapping[str, Any]) -> Record:
    row: Record = {}
    for name, value in record.items():
        if name in ADDED or value is None:
            row[name] = value
        elif name == "label":
            row[name] = int(float(value)) if str(value).lower() not in {"true", "false", ""} else _flag(value)
        else:
            row[name] = format_cell(value)
    return row


def _flag(value: object) -> int | None:
    return {"true": 1, "false": 0}.get(str(value).lower())


def _scored_records(
    group: Group, places: Sequence[tuple[float, int]]
) -> Iterator[tuple[Record, tuple[float | None, int | None]]]:
    for record, place in zip(group.records, group.places, strict=True):
        yield record, NO_SCORE if place is None else places[place]


def _json_line(value: object) -> str:
    line = json.dumps(value, ensure_ascii=False, default=str)
    # UTF-8 has no halves of surrogate pairs, JSON's escapes do: nothing is lost.
    return (json.dumps(value, default=str) if _SURROGATE.search(line) else line) + "\n"


def _json_lines(group: Group, places: Sequence[tuple[float, int]]) -> Iterator[str]:
    """A question with a list of candidates stays one; rows stay rows."""
    if group.value is None:
        yield from _flat_json_lines(group, places)
        return
    candidates = group.value.get("candidates")
    if not isinstance(candidates, list):  # Texts under `positive` and `negative`: there is no room for a score.
        candidates = [{"id": each.id, "text": each.text, "label": each.label} for each in group.question.candidates]
    scored = [
        ({"text": each} if isinstance(each, str) else each) | dict(zip(ADDED, own, strict=True))
        for each, own in zip(candidates, places, strict=True)
    ]
    yield _json_line({key: value for key, value in group.value.items() if key != "candidates"} | {"candidates": scored})


def _flat_json_lines(group: Group, places: Sequence[tuple[float, int]]) -> Iterator[str]:
    for record, added in _scored_records(group, places):
        yield _json_line(record | dict(zip(ADDED, added, strict=True)))


def _tsv_line(cells: Sequence[str], _: object) -> Iterator[str]:
    yield "\t".join(single_line(cell).replace("\0", " ") for cell in cells) + "\n"


def _csv_line(cells: Sequence[str], _: object) -> Iterator[str]:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([cell.replace("\0", " ") for cell in cells])
    yield text.getvalue()


_LINES: Final[Mapping[str, Callable[..., Iterator[str]]]] = {
    "tsv": _tsv_line,
    "csv": _csv_line,
    "jsonl": _json_lines,
    "parquet": _flat_json_lines,
}
