"""Questions to flat records (header, then one candidate a row) for TSV and CSV, in bounded memory.

The header must name every metadata key before the first row is written, so the questions pass through a temporary
file once.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

from anselect.data.formats.rows import CANDIDATE_PREFIX, COLUMNS, QUESTION_PREFIX
from anselect.records import Question

SPOOL_BYTES: Final = 16 * 2**20
"""Up to here the questions on their way stay in memory, beyond it on disk."""


def flat_records(questions: Iterable[Question]) -> Iterator[list[str]]:
    """Yield the header, then a record per candidate; a question without candidates gets a row without one.

    >>> from anselect.records import Candidate
    >>> list(flat_records([Question("q", "Why?", (Candidate("c", "So.", 1),))]))
    [['question_id', 'question', 'candidate_id', 'candidate', 'label'], ['q', 'Why?', 'c', 'So.', '1']]
    """
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, mode="w+", encoding="utf-8", newline="\n") as spool:
        keys = _Keys()
        for question in questions:
            keys.add(question)
            _store(question, spool)
        yield [*COLUMNS, *keys.columns()]
        spool.seek(0)
        for line in spool:
            yield from _records(json.loads(line), keys)


@dataclass(slots=True)
class _Keys:
    """The metadata keys met so far, in the order of their first appearance."""

    question: dict[str, None] = field(default_factory=dict)
    candidate: dict[str, None] = field(default_factory=dict)

    def add(self, question: Question) -> None:
        self.question.update(dict.fromkeys(question.metadata))
        for candidate in question.candidates:
            self.candidate.update(dict.fromkeys(candidate.metadata))

    def columns(self) -> list[str]:
        return [QUESTION_PREFIX + key for key in self.question] + [_candidate_column(key) for key in self.candidate]


def _candidate_column(key: str) -> str:
    """A key keeps its name unless a reader would take the column for something else."""
    is_taken = key in COLUMNS or key.startswith((QUESTION_PREFIX, CANDIDATE_PREFIX))
    return CANDIDATE_PREFIX + key if is_taken else key


def _store(question: Question, spool: IO[str]) -> None:
    candidates = [[c.id, c.text, c.label, dict(c.metadata)] for c in question.candidates]
    # Escaped to ASCII, so that even a lone surrogate passes through the file.
    spool.write(json.dumps([question.id, question.text, dict(question.metadata), candidates]) + "\n")


def _records(stored: list[Any], keys: _Keys) -> Iterator[list[str]]:
    question_id, text, metadata, candidates = stored
    extra = [metadata.get(key, "") for key in keys.question]
    for candidate_id, candidate_text, label, candidate_metadata in candidates or [["", "", None, {}]]:
        cells = [question_id, text, candidate_id, candidate_text, "" if label is None else str(label)]
        yield cells + extra + [candidate_metadata.get(key, "") for key in keys.candidate]
