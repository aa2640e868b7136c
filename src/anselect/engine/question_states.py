"""Rows in, batches out, for a model that reads each question once: first the questions, then the candidates.

A batch holds candidates of one length whose questions are of one length: nothing is padded (`batching.py`), so that a
pair's score is the same in any company.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anselect.engine.batching import Batch, Row, dealt
from anselect.engine.session import CANDIDATES, MEMORY, OWNERS, QUESTIONS
from anselect.engine.tokens import PairTemplate

QUESTION_TOKENS: Final = 4096
"""States of so many questions' tokens are kept at a time, some 10 KB each."""

States = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QuestionBatch:
    """Questions of equal length."""

    keys: Sequence[bytes]
    ids: NDArray[np.int64]
    """(B, T), with what stands before and behind a question."""


def parts_of(rows: Sequence[Row], template: PairTemplate) -> Iterator[list[Row]]:
    """Cut rows into parts whose distinct questions have a bounded number of tokens."""
    part: list[Row] = []
    known: set[bytes] = set()
    tokens = 0
    for row in rows:
        key = row.question.tobytes()
        size = 0 if key in known else len(row.question) + template.specials
        if part and tokens + size > QUESTION_TOKENS:
            yield part
            part, known, tokens, size = [], set(), 0, len(row.question) + template.specials
        part.append(row)
        known.add(key)
        tokens += size
    if part:
        yield part


def question_batches(rows: Sequence[Row], template: PairTemplate, *, threads: int) -> Iterator[QuestionBatch]:
    """Put the distinct questions of rows together by length."""
    sides = {
        row.question.tobytes(): np.concatenate([template.before[0], row.question, template.between[0]]) for row in rows
    }
    by_length: dict[int, list[bytes]] = {}
    for key, side in sides.items():
        by_length.setdefault(len(side), []).append(key)
    for keys in dealt(by_length, lambda length: length, threads):
        yield QuestionBatch(keys, np.stack([sides[key] for key in keys]))


def candidate_batches(
    rows: Sequence[Row], states: Mapping[bytes, States], template: PairTemplate, *, threads: int
) -> Iterator[Batch]:
    """Put rows together whose questions are of one length and whose candidates are, long ones first."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.question.tobytes()):  # like questions in one batch
        groups.setdefault((len(row.candidate) + len(template.behind[0]), len(row.question)), []).append(row)
    for part in dealt(groups, lambda size: size[0], threads):
        yield _make_batch(part, states, template)


def _make_batch(rows: Sequence[Row], states: Mapping[bytes, States], template: PairTemplate) -> Batch:
    keys = [row.question.tobytes() for row in rows]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    inputs: dict[str, NDArray[Any]] = {
        QUESTIONS: np.empty((0, 1), dtype=np.int64),
        CANDIDATES: np.stack([np.concatenate([row.candidate, template.behind[0]]) for row in rows]),
        OWNERS: np.array([places[key] for key in keys], dtype=np.int64),
        MEMORY: np.stack([states[key] for key in places]),
    }
    pairs = np.array([row.pair for row in rows], dtype=np.int64)
    if inputs[CANDIDATES].size == 1:  # one token alone is multiplied in another way than in company
        inputs |= {name: np.repeat(inputs[name], 2, axis=0) for name in (CANDIDATES, OWNERS)}
        pairs = np.repeat(pairs, 2)
    return Batch(pairs, inputs)
