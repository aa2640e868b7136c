"""The labels of many questions as flat arrays, one entry per candidate: what the measures work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anselect.data.protocols import Counting
from anselect.errors import DataError
from anselect.records import Question

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)  # no slots: cached properties need a place
class Judgements:
    """C candidates of Q questions, question after question, in the order of the data."""

    sizes: IntArray
    """[Q] how many candidates each question has; 0 is allowed."""
    is_correct: BoolArray
    """[C] the label of each candidate."""

    @classmethod
    def from_questions(cls, questions: Sequence[Question]) -> Judgements:
        """Collect the labels; raise DataError for a candidate without one."""
        labels = [candidate.label for question in questions for candidate in question.candidates]
        if None in labels:
            _raise_unlabelled(questions)
        sizes = np.fromiter((len(question.candidates) for question in questions), np.int64, len(questions))
        return cls(sizes=sizes, is_correct=np.array(labels, dtype=np.int64) == 1)

    @cached_property
    def question_of(self) -> IntArray:
        """[C] the index of each candidate's question."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @cached_property
    def positives(self) -> IntArray:
        """[Q] how many candidates of each question are correct."""
        return np.bincount(self.question_of[self.is_correct], minlength=self.sizes.size)

    def counted(self, counting: Counting) -> BoolArray:
        """[Q] which questions count."""
        if counting is Counting.every:
            return self.sizes > 0
        if counting is Counting.answerable:
            return self.positives > 0
        return (self.positives > 0) & (self.positives < self.sizes)


def check_shape(questions: Sequence[Question], scores: Sequence[Sequence[float | None]]) -> None:
    """Raise DataError for scores that do not match the questions and their candidates in number."""
    if len(questions) != len(scores):
        raise DataError(f"expected scores for {len(questions)} questions, got {len(scores)}: give one list a question")
    for question, own in zip(questions, scores, strict=True):
        if len(question.candidates) != len(own):
            raise DataError(
                f"question '{question.id}': expected {len(question.candidates)} scores, one a candidate, got {len(own)}"
            )


def flatten_scores(questions: Sequence[Question], entries: Sequence[float | None]) -> FloatArray:
    """Return the scores of all candidates as an array [C], with -inf for None (missing from the run).

    Raises DataError for NaN and for an infinite score, by question and candidate.
    """
    flat = np.array(entries, dtype=np.float64)
    if not np.isfinite(flat).all():
        is_missing = np.fromiter((entry is None for entry in entries), np.bool_, len(entries))
        bad = np.flatnonzero(~np.isfinite(flat) & ~is_missing)
        if bad.size:
            _raise_not_finite(questions, int(bad[0]), float(flat[bad[0]]))
        flat[is_missing] = -np.inf
    return flat


def require_ranked(questions: Sequence[Question], scores: FloatArray) -> None:
    """Raise DataError for a score that has no place in a ranking: NaN or above everything."""
    bad = np.flatnonzero(~(scores < np.inf))
    if bad.size:
        _raise_not_finite(questions, int(bad[0]), float(scores[bad[0]]))


def _raise_not_finite(questions: Sequence[Question], place: int, score: float) -> None:
    for question in questions:
        if place < len(question.candidates):
            candidate = question.candidates[place]
            raise DataError(
                f"question '{question.id}', candidate '{candidate.id}': expected a finite score, got {score}: "
                "mend the scorer, there is no honest place for it in a ranking"
            )
        place -= len(question.candidates)


def _raise_unlabelled(questions: Sequence[Question]) -> None:
    for question in questions:
        for candidate in question.candidates:
            if candidate.label is None:
                raise DataError(
                    f"question '{question.id}', candidate '{candidate.id}': expected label 0 or 1, got none: "
                    "evaluation needs a label for every candidate, add it to the data"
                )
