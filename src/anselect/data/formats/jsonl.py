"""JSONL: one question a line with its candidates, or one candidate a line; in and out as questions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anselect.data.files import read_lines
from anselect.data.formats.checks import shown
from anselect.data.formats.json_question import SHAPE, format_json_question, parse_json_question
from anselect.data.formats.rows import (
    Header,
    Row,
    format_cell,
    group_rows,
    has_candidate_column,
    parse_header,
    parse_row,
)
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Question


def read_jsonl(path: Path) -> Iterator[Question]:
    """Read the questions of a JSONL file; missing ids are made up (`Q1`, `Q1-0`), other keys become metadata."""
    return unique_questions(read_located_jsonl(path), path)


def read_located_jsonl(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with their lines; repeated ids pass."""
    values = read_json_values(path)
    first = next(values, None)
    if first is None:
        message = f"expected one JSON object per line ({SHAPE}), got an empty file: is this the right one?"
        raise DataError(message, path=path, line=1)
    values = itertools.chain([first], values)
    if isinstance(first[1], dict) and "candidates" not in first[1] and has_candidate_column(first[1]):
        yield from group_rows(_rows(values, path), path)
        return
    for number, (line, value) in enumerate(values, start=1):
        question = parse_json_question(value, number, path, line)
        yield LocatedQuestion(question, line, (line,) * len(question.candidates))


def write_jsonl(questions: Iterable[Question], path: Path) -> None:
    """Write questions, one JSON object a line; keeps everything."""
    with open_text_target(path) as file:
        for question in questions:
            file.write(format_json_question(question) + "\n")


def read_json_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the JSON value of each line that is not blank, with its line."""
    for line, text in read_lines(path):
        if text.strip():
            yield line, _parse_json(text, path, line)


def _rows(values: Iterable[tuple[int, Any]], path: Path) -> Iterator[Row]:
    """Read flat objects; keys may differ from line to line."""
    headers: dict[tuple[str, ...], Header] = {}
    for line, value in values:
        if not isinstance(value, dict):
            raise DataError(f"expected a JSON object, got {shown(value)}: correct the line", path=path, line=line)
        names = tuple(value)
        if names not in headers:
            headers[names] = parse_header(names, path, line)
        yield parse_row([format_cell(cell) for cell in value.values()], headers[names], path, line)


def _parse_json(text: str, path: Path, line: int) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"expected one JSON object per line, got {shown(text)} ({error.msg} at character {error.pos + 1})"
    except RecursionError:
        message = f"expected {SHAPE}, got JSON nested too deeply"
    except ValueError as error:
        message = f"expected {SHAPE}, got a number that cannot be read ({error})"
    raise DataError(f"{message}: correct the line", path=path, line=line)
