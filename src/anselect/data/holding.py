"""A question as a format can hold it: what `data convert` loses is the difference to the question itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from anselect.records import Candidate, Question

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """What a format can hold; the default is all but empty metadata values and halves of surrogate pairs."""

    question_ids: bool = True
    """False: ids become positions, `train-0` and so on."""
    candidate_ids: bool = True
    """False: ids become positions, `<question id>-0` and so on."""
    unlabelled: bool = True
    """False: writing a candidate without a label is an error."""
    empty_questions: bool = True
    """False: questions without candidates are left out."""
    order: bool = True
    """False: the positives of a question move before its negatives."""
    question_metadata: frozenset[str] | None = None
    """The keys that are kept; None keeps all."""
    candidate_metadata: frozenset[str] | None = None
    """The keys that are kept; None keeps all."""
    empty_values: bool = False
    """True: metadata whose value is an empty text comes back."""
    surrogates: bool = False
    """True: halves of surrogate pairs, which UTF-8 lacks, come back."""
    text: Callable[[str], str] = str
    """What becomes of a text or of a metadata value."""


def as_held(question: Question, holds: Holds, place: int) -> Question | None:
    """Return what comes back when the question is written as number `place` and read again; None when it is left out.

    >>> tokens_only = Holds(candidate_ids=False, candidate_metadata=frozenset(), text=str.strip)
    >>> as_held(Question("q", "Why? ", (Candidate("c7", "So.", 1, {"page": "3"}),)), tokens_only, 0)
    Question(id='q', text='Why?', candidates=(Candidate(id='q-0', text='So.', label=1, metadata={}),), metadata={})
    """
    if not (question.candidates or holds.empty_questions):
        return None
    question = question if holds.surrogates else without_surrogates(question)
    question_id = question.id if holds.question_ids else f"train-{place}"
    candidates = question.candidates
    if not holds.order:
        candidates = tuple(sorted(candidates, key=lambda candidate: not candidate.is_correct))
    return Question(
        question_id,
        holds.text(question.text),
        tuple(_candidate_as_held(each, holds, f"{question_id}-{number}") for number, each in enumerate(candidates)),
        _metadata_as_held(question.metadata, holds.question_metadata, holds),
    )


def without_surrogates(question: Question) -> Question:
    """Put U+FFFD for halves of surrogate pairs, which JSON's escapes can bring in and no UTF-8 file can hold."""
    if all(text.isascii() or not _SURROGATE.search(text) for text in _texts(question)):
        return question
    id_, text, metadata = _clean_parts(question)
    cleaned = ((*_clean_parts(each), each.label) for each in question.candidates)
    candidates = tuple(Candidate(each_id, each, label, values) for each_id, each, values, label in cleaned)
    return Question(id_, text, candidates, metadata)


def _candidate_as_held(candidate: Candidate, holds: Holds, position_id: str) -> Candidate:
    return Candidate(
        candidate.id if holds.candidate_ids else position_id,
        holds.text(candidate.text),
        candidate.label,
        _metadata_as_held(candidate.metadata, holds.candidate_metadata, holds),
    )


def _metadata_as_held(metadata: Mapping[str, str], kept: frozenset[str] | None, holds: Holds) -> dict[str, str]:
    held = {key: holds.text(value) for key, value in metadata.items() if kept is None or key in kept}
    return {key: value for key, value in held.items() if value or holds.empty_values}


def _texts(question: Question) -> Iterator[str]:
    records: tuple[Question | Candidate, ...] = (question, *question.candidates)
    for record in records:
        yield record.id
        yield record.text
        yield from record.metadata
        yield from record.metadata.values()


def _clean_parts(record: Question | Candidate) -> tuple[str, str, dict[str, str]]:
    return (
        _clean(record.id),
        _clean(record.text),
        {_clean(key): _clean(value) for key, value in record.metadata.items()},
    )


def _clean(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
