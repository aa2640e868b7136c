"""Questions with a passage and answer spans (JSONL or SQuAD's JSON) in; out come questions with its sentences."""

from __future__ import annotations

import itertools
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from anselect.data.files import read_lines
from anselect.data.formats.checks import shown
from anselect.data.located import LocatedQuestion, unique_questions
from anselect.data.sentences import split_sentences
from anselect.errors import DataError
from anselect.records import Candidate, Question

logger = logging.getLogger(__name__)

SHAPE: Final = '{"id", "question", "context", "answers": [{"text", "start"}]}'
# What is said of spans that had to be moved or dropped, in the order of saying.
_MOVED: Final = "answers moved to the nearest place where their text stands"
_ABSENT: Final = "answers left out, whose text does not stand in the passage"
_UNPLACED: Final = "questions left out, none of whose answers stands in the passage"


class Span(NamedTuple):
    """An answer in the passage: `text == context[start:start + len(text)]`."""

    text: str
    start: int


class _Entry(NamedTuple):
    """A question as the file says it."""

    value: Mapping[str, Any]
    context: object
    title: object
    line: int | None


def read_spans(path: Path) -> Iterator[Question]:
    """Read questions with passages; the sentences of a passage are the candidates, numbered from 0.

    A sentence that overlaps an answer is correct (its metadata say which answer); with `is_impossible` none is;
    without answers nothing is known and the labels are None. A start where the answer's text does not stand is put
    right, and what cannot be is left out; both are counted in a warning at the end.
    """
    return unique_questions(read_located_spans(path), path)


def read_located_spans(path: Path) -> Iterator[LocatedQuestion]:
    """Read the questions with their lines (none in SQuAD's JSON, which is one document); repeated ids pass."""
    reader = _Reader(path)
    number = 0
    for number, entry in enumerate(_entries(path), start=1):
        question = reader.question(entry, number)
        if question is not None:
            yield LocatedQuestion(question, entry.line, (entry.line,) * len(question.candidates))
    if not number:
        raise DataError(f"expected {SHAPE} on each line or SQuAD's JSON, got no question", path=path)
    reader.report()


def place_span(context: str, answer: str, start: int | None) -> int | None:
    """Return where the answer stands, nearest to `start`; None where it does not stand in the context.

    >>> place_span("Bell rang. Bell left.", "Bell", 9)
    11
    """
    if start is not None and context.startswith(answer, start) and start >= 0:
        return start
    wanted = min(max(start or 0, 0), len(context))
    after = context.find(answer, wanted)
    before = context.rfind(answer, 0, min(wanted + len(answer), len(context)))
    places = [place for place in (before, after) if place >= 0]
    return min(places, key=lambda place: abs(place - wanted), default=None)


@dataclass(slots=True)
class _Reader:
    """Turns entries into questions and counts what was wrong with their spans."""

    path: Path
    notes: Counter[str] = field(default_factory=Counter)

    def question(self, entry: _Entry, number: int) -> Question | None:
        value = entry.value
        context = self._text(entry.context, "context", entry)
        text = self._text(value.get("question"), "question", entry)
        given_id = value.get("id")
        question_id = str(given_id) if isinstance(given_id, str | int) and given_id != "" else f"Q{number}"
        metadata = {"document_title": str(entry.title)} if entry.title else {}
        answers = list(self._answers(value, entry))
        spans: list[Span] | None = None
        if value.get("is_impossible") is True:
            spans = []
        elif answers:
            spans = self._placed(context, answers)
            if not spans:
                self.notes[_UNPLACED] += 1
                return None
        return Question(question_id, text, _candidates(context, spans), metadata)

    def report(self) -> None:
        said = [f"{self.notes[what]:,} {what}" for what in (_MOVED, _ABSENT, _UNPLACED) if self.notes[what]]
        if said:
            logger.warning("%s: %s", self.path, "; ".join(said))

    def _placed(self, context: str, answers: Iterable[tuple[str, int | None]]) -> list[Span]:
        spans = []
        for text, start in answers:
            place = place_span(context, text, start) if text.strip() else None
            self.notes[_ABSENT] += place is None
            if place is not None:
                self.notes[_MOVED] += place != start
                spans.append(Span(text, place))
        return spans

    def _answers(self, value: Mapping[str, Any], entry: _Entry) -> Iterator[tuple[str, int | None]]:
        answers = value.get("answers") or []
        if isinstance(answers, dict):  # Hugging Face's shape: a list of texts beside a list of starts.
            pairs = itertools.zip_longest(answers.get("text", []), answers.get("answer_start", []))
            answers = [{"text": text, "start": start} for text, start in pairs]
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            raise self._error(f"expected answers as a list of text and start, got {shown(answers)}", entry)
        for answer in answers:
            start = answer.get("start", answer.get("answer_start"))
            if start is not None and (not isinstance(start, int) or isinstance(start, bool)):
                raise self._error(f"expected the start of an answer as a whole number, got {shown(start)}", entry)
            yield self._text(answer.get("text"), "text of an answer", entry), start

    def _text(self, value: object, what: str, entry: _Entry) -> str:
        if not isinstance(value, str):
            raise self._error(f"expected the {what} as a string, got {shown(value)}", entry)
        return value

    def _error(self, message: str, entry: _Entry) -> DataError:
        return DataError(f"{message}: the shape is {SHAPE}", path=self.path, line=entry.line)


def _candidates(context: str, spans: Sequence[Span] | None) -> tuple[Candidate, ...]:
    candidates = []
    for number, (start, end) in enumerate(_sentences(context)):
        found = next((span for span in spans or () if span.start < end and start < span.start + len(span.text)), None)
        label = None if spans is None else int(found is not None)
        metadata = {"answer": found.text} if found else {}
        candidates.append(Candidate(str(number), context[start:end], label, metadata))
    return tuple(candidates)


@lru_cache(maxsize=16)
def _sentences(context: str) -> tuple[tuple[int, int], ...]:
    """Questions on the same passage follow each other: it is split once."""
    return tuple(split_sentences(context))


def _entries(path: Path) -> Iterator[_Entry]:
    lines = ((number, text) for number, text in read_lines(path) if text.strip())
    first = next(lines, None)
    if first is None:
        return
    value = _parse(first[1])
    if value is None:  # A line that is no JSON by itself: SQuAD's JSON over many lines, or damaged.
        value = _parse("\n".join([first[1], *(text for _, text in lines)]))
        if _squad_data(value) is None:
            raise _no_json(first[1], path, first[0])
    data = _squad_data(value)
    if data is not None:
        yield from _squad_entries(data, path)
        return
    yield _entry(value, path, first[0])
    for number, text in lines:
        value = _parse(text)
        if value is None:
            raise _no_json(text, path, number)
        yield _entry(value, path, number)


def _entry(value: object, path: Path, line: int) -> _Entry:
    if not isinstance(value, dict):
        raise DataError(f"expected {SHAPE}, got {shown(value)}: correct the line", path=path, line=line)
    return _Entry(value, value.get("context"), value.get("title"), line)


def _squad_entries(data: object, path: Path) -> Iterator[_Entry]:
    """Yield the questions of SQuAD's nested JSON, 1.1 or 2.0."""
    for article in _objects(data, path):
        for paragraph in _objects(article.get("paragraphs"), path):
            for question in _objects(paragraph.get("qas"), path):
                yield _Entry(question, paragraph.get("context"), article.get("title"), None)


def _objects(value: object, path: Path) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(f"expected SQuAD's data, paragraphs and qas as lists of objects, got {shown(value)}", path=path)
    return value


def _squad_data(value: object) -> object:
    """Return the list of articles of SQuAD's JSON, None where the value is something else."""
    return value.get("data") if isinstance(value, dict) and "question" not in value else None


def _parse(text: str) -> object:
    """Return the JSON value, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _no_json(text: str, path: Path, line: int) -> DataError:
    return DataError(f"expected {SHAPE} on each line, got {shown(text)}: correct the line", path=path, line=line)
