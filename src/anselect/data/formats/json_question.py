"""One question as a JSON object, in and out: our shape, and those of rank_llm and sentence-transformers in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from anselect.data.formats.checks import shown
from anselect.data.formats.rows import format_cell, parse_label
from anselect.errors import DataError
from anselect.records import Candidate, Question

SHAPE: Final = '{"id", "question", "candidates": [{"id", "text", "label"}]}'

_QUESTION_KEYS: Final = frozenset({"id", "qid", "question", "query", "candidates", "metadata"})
_JUDGED_KEYS: Final = _QUESTION_KEYS | {"positive", "negative", "documents"}
_CANDIDATE_KEYS: Final = frozenset({"id", "docid", "text", "label", "metadata"})
_DOCUMENT_TEXT_KEYS: Final = ("text", "contents", "content", "segment", "passage", "body")


def parse_json_question(value: object, number: int, path: Path, line: int) -> Question:
    """Read one question; a missing id becomes `Q<number>`, that of a candidate `Q<number>-<place>`.

    Keys that are not known become metadata. Raises DataError for a wrong shape or a label other than 0 and 1.
    """
    return _Parser(path, line).question(value, number)


def format_json_question(question: Question) -> str:
    """Return the question as one line of JSON.

    >>> format_json_question(Question("q", "Why?", (Candidate("c", "So.", 1),)))
    '{"id": "q", "question": "Why?", "candidates": [{"id": "c", "text": "So.", "label": 1}]}'
    """
    value: dict[str, Any] = {"id": question.id, "question": question.text, "candidates": []}
    for candidate in question.candidates:
        entry: dict[str, Any] = {"id": candidate.id, "text": candidate.text}
        if candidate.label is not None:
            entry["label"] = candidate.label
        value["candidates"].append(entry | _metadata_entry(candidate.metadata))
    value |= _metadata_entry(question.metadata)
    line = json.dumps(value, ensure_ascii=False)
    # UTF-8 has no lone surrogates, JSON's \u escapes do: nothing is lost.
    return json.dumps(value) if _has_surrogate(line) else line


class _Parser:
    """Turns the JSON value of one line into a question; knows the place for messages."""

    def __init__(self, path: Path, line: int) -> None:
        self.path, self.line = path, line

    def question(self, value: object, number: int) -> Question:
        entry = self._expect_object(value, "a question")
        query = entry.get("question", entry.get("query"))
        nested: Mapping[str, Any] = query if isinstance(query, dict) else {"text": query}
        text = self._text(nested.get("text"), "question")
        given_id = next(
            (found for found in (entry.get("id"), entry.get("qid"), nested.get("qid")) if _is_id(found)), ""
        )
        question_id = str(given_id) or f"Q{number}"
        if "candidates" in entry:
            candidates = [
                self._candidate(item, f"{question_id}-{place}") for place, item in self._list(entry, "candidates")
            ]
            return Question(question_id, text, tuple(candidates), self._metadata(entry, _QUESTION_KEYS))
        if "positive" in entry:
            candidates = [
                Candidate(f"{question_id}-{place}", candidate_text, label)
                for place, (candidate_text, label) in enumerate(self._judged_texts(entry))
            ]
            return Question(question_id, text, tuple(candidates), self._metadata(entry, _JUDGED_KEYS))
        raise self._error(f"expected {SHAPE}, got the keys {shown(', '.join(entry))}: add a list of candidates")

    def _candidate(self, value: object, made_up_id: str) -> Candidate:
        if isinstance(value, str):
            return Candidate(made_up_id, value)
        entry = self._expect_object(value, "a candidate")
        text, known = entry.get("text"), _CANDIDATE_KEYS
        if text is None and "doc" in entry:
            text, known = self._document_text(entry["doc"]), _CANDIDATE_KEYS | {"doc"}
        given_id = next((found for found in (entry.get("id"), entry.get("docid")) if _is_id(found)), "")
        return Candidate(
            str(given_id) or made_up_id,
            self._text(text, "candidate text"),
            parse_label(format_cell(entry.get("label")), self.path, self.line),
            self._metadata(entry, known),
        )

    def _judged_texts(self, entry: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The evaluators of sentence-transformers: positive and negative, or positive and a list of documents."""
        positive = [self._text(item, "positive text") for _, item in self._list(entry, "positive")]
        if "documents" in entry:
            documents = [self._text(item, "document") for _, item in self._list(entry, "documents")]
            missed = [text for text in positive if text not in documents]
            return [(text, int(text in positive)) for text in documents + missed]
        negative = [self._text(item, "negative text") for _, item in self._list(entry, "negative")]
        return [(text, 1) for text in positive] + [(text, 0) for text in negative]

    def _list(self, entry: Mapping[str, Any], key: str) -> Iterable[tuple[int, object]]:
        value = entry.get(key, [])
        if isinstance(value, str) and key != "candidates":
            value = [value]
        if not isinstance(value, list):
            raise self._error(f"expected {key} to be a list, got {shown(value)}: write [ ] around it")
        return enumerate(value)

    def _document_text(self, document: object) -> object:
        if isinstance(document, dict):
            return next((document[key] for key in _DOCUMENT_TEXT_KEYS if key in document), None)
        return document

    def _text(self, value: object, what: str) -> str:
        if not isinstance(value, str):
            raise self._error(f"expected the {what} as a string, got {shown(value)}: the shape is {SHAPE}")
        return value

    def _metadata(self, entry: Mapping[str, Any], known: frozenset[str]) -> dict[str, str]:
        nested = entry.get("metadata")
        if nested is not None and not isinstance(nested, dict):
            raise self._error(f'expected "metadata" to be an object, got {shown(nested)}: write {{"name": "value"}}')
        others = {key: value for key, value in entry.items() if key not in known}
        return {key: format_cell(value) for key, value in {**others, **(nested or {})}.items() if value is not None}

    def _expect_object(self, value: object, what: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._error(f"expected {what} as a JSON object, got {shown(value)}: the shape is {SHAPE}")
        return value

    def _error(self, message: str) -> DataError:
        return DataError(message, path=self.path, line=self.line)


def _metadata_entry(metadata: Mapping[str, str]) -> dict[str, Any]:
    return {"metadata": dict(metadata)} if metadata else {}


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
