"""MAP, MRR, P@k, R@k and nDCG@k of many questions at once: labels and scores in, values per question out.

Candidates with equal scores have no order. The value is then the expectation over all their orders, in closed form
(McSherry & Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores",
ECIR 2008); the worst and the best order give the bounds beside it. Written by hand because no library does this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from anselect.errors import UsageError
from anselect.evaluation.judgements import BoolArray, FloatArray, IntArray, Judgements
from anselect.evaluation.ordering import order_candidates

DEFAULT_MEASURES: Final = ("MAP", "MRR", "P@1", "P@5", "R@1", "R@5", "nDCG@5", "nDCG@10")

# How many entries the table of first-correct chances may hold at once: large enough to hide the cost of a step.
_CHANCES_AT_ONCE: Final = 65_536


class Measure(NamedTuple):
    """A measure by its parts: `P@5` is ("P", 5), `MAP` is ("MAP", None)."""

    kind: str
    cutoff: int | None

    @classmethod
    def parse(cls, name: str) -> Measure:
        """Read a measure's name; raise UsageError for an unknown one.

        >>> Measure.parse("nDCG@10")
        Measure(kind='nDCG', cutoff=10)
        """
        match = re.fullmatch(r"(MAP|MRR)|(P|R|nDCG)@([1-9][0-9]{0,8})", name)
        if match is None:
            raise UsageError(f"unknown measure '{name}': known are MAP, MRR, P@k, R@k and nDCG@k, such as P@1")
        return cls(match[1], None) if match[1] else cls(match[2], int(match[3]))


@dataclass(frozen=True, slots=True)
class QuestionValues:
    """One measure, question by question: arrays of length Q."""

    value: FloatArray
    worst: FloatArray
    """The value when every tie falls against the correct candidates."""
    best: FloatArray
    """The value when every tie falls for them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What `measure_questions` finds, question by question."""

    measures: Mapping[str, QuestionValues]
    tied_pairs: IntArray
    """[Q] how many pairs of candidates have equal scores."""
    first_correct: FloatArray
    """[Q] the (expected) rank of the first correct candidate; NaN where none was found."""


@dataclass(frozen=True, slots=True)
class _Ties:
    """The groups of candidates with equal scores, best group first, question after question."""

    question: IntArray
    before: IntArray
    """How many candidates of the question stand above the group."""
    correct_before: IntArray
    """How many of them are correct."""
    size: IntArray
    correct: IntArray

    @property
    def place(self) -> IntArray:
        """[C] each candidate's place within its group, from 0."""
        ends = np.cumsum(self.size)
        return np.arange(int(self.size.sum())) - np.repeat(ends - self.size, self.size)


@dataclass(frozen=True, slots=True)
class _Hits:
    """The ranks that a correct candidate holds, or may hold, in rank order, question after question."""

    question: IntArray
    rank: IntArray
    chance: FloatArray
    """The probability that the candidate at this rank is correct."""
    precision: FloatArray
    """The expected precision down to this rank, given that the candidate here is correct."""
    reciprocal: FloatArray
    """[Q] the expected reciprocal rank of the first correct candidate; 0 where there is none."""
    first: FloatArray
    """[Q] its expected rank; NaN where there is none."""


def measure_questions(
    judgements: Judgements,
    scores: FloatArray,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    tie_order: IntArray | None = None,
    is_found: BoolArray | None = None,
) -> Measured:
    """Measure the ranking that the scores [C] give, question by question.

    tie_order [C] orders candidates with equal scores, lowest first; without it the value is the expectation over all
    orders. is_found [C] takes candidates out of the ranking while a correct one still counts as missed.
    A question without a correct candidate gets 0 in every measure.
    """
    kinds = {name: Measure.parse(name) for name in measures}
    positives = judgements.positives
    sizes, is_correct, scores, tie_order = _only_found(judgements, scores, tie_order, is_found)
    question = np.repeat(np.arange(sizes.size), sizes)
    order = order_candidates(sizes, scores, tie_order)
    is_correct = is_correct[order]
    ties = _find_ties(sizes, question, scores[order], is_correct)
    hits, worst, best = _rank(ties, sizes, is_correct, is_strict=tie_order is not None)
    return Measured(
        measures={name: _bounded_values(kind, positives, (hits, worst, best)) for name, kind in kinds.items()},
        tied_pairs=_sum_by(ties.question, ties.size * (ties.size - 1) / 2, sizes.size).astype(np.int64),
        first_correct=hits.first,
    )


def _only_found(
    judgements: Judgements, scores: FloatArray, tie_order: IntArray | None, is_found: BoolArray | None
) -> tuple[IntArray, BoolArray, FloatArray, IntArray | None]:
    if is_found is None or is_found.all():
        return judgements.sizes, judgements.is_correct, scores, tie_order
    sizes = np.bincount(judgements.question_of[is_found], minlength=judgements.sizes.size)
    tie_order = None if tie_order is None else tie_order[is_found]
    return sizes, judgements.is_correct[is_found], scores[is_found], tie_order


def _find_ties(sizes: IntArray, question: IntArray, scores: FloatArray, is_correct: BoolArray) -> _Ties:
    """Cut the sorted candidates into groups of equal question and score."""
    starts_group = np.ones(scores.size, dtype=np.bool_)
    starts_group[1:] = (question[1:] != question[:-1]) | (scores[1:] != scores[:-1])
    start = np.flatnonzero(starts_group)
    end = np.append(start[1:], scores.size)[: start.size]
    correct_above = np.concatenate([[0], np.cumsum(is_correct)])
    question_start = (np.cumsum(sizes) - sizes)[question[start]]
    return _Ties(
        question=question[start],
        before=start - question_start,
        correct_before=correct_above[start] - correct_above[question_start],
        size=end - start,
        correct=correct_above[end] - correct_above[start],
    )


def _rank(ties: _Ties, sizes: IntArray, is_correct: BoolArray, *, is_strict: bool) -> tuple[_Hits, _Hits, _Hits]:
    """Return where correct candidates stand: as the ranking says, at worst, at best."""
    if not (ties.size > 1).any():
        hits = _strict_hits(sizes, is_correct)
        return hits, hits, hits
    place, size, correct = ties.place, np.repeat(ties.size, ties.size), np.repeat(ties.correct, ties.size)
    worst, best = _strict_hits(sizes, place >= size - correct), _strict_hits(sizes, place < correct)
    hits = _strict_hits(sizes, is_correct) if is_strict else _expected_hits(ties, sizes.size)
    return hits, worst, best


def _strict_hits(sizes: IntArray, is_correct: BoolArray) -> _Hits:
    """Read the hits off a ranking without ties."""
    starts = np.cumsum(sizes) - sizes
    place = np.flatnonzero(is_correct)
    question = np.repeat(np.arange(sizes.size), sizes)[place]
    rank = place - starts[question] + 1
    found = np.bincount(question, minlength=sizes.size)
    number = np.arange(place.size) - (np.cumsum(found) - found)[question] + 1
    first = np.full(sizes.size, np.nan)
    first[question[number == 1]] = rank[number == 1]
    return _Hits(question, rank, np.ones(place.size), number / rank, reciprocal=np.nan_to_num(1 / first), first=first)


def _expected_hits(ties: _Ties, questions: int) -> _Hits:
    """Average over all orders of each group.

    In a group of n candidates of which r are correct, each place holds a correct one with chance r/n, and given that,
    each other place of the group does with chance (r-1)/(n-1).
    """
    group = np.flatnonzero(ties.correct)
    group = np.repeat(group, ties.size[group])
    size, correct = ties.size[group], ties.correct[group]
    place = ties.place[np.repeat(ties.correct > 0, ties.size)]
    rank = ties.before[group] + place + 1
    above = ties.correct_before[group] + place * (correct - 1) / np.maximum(size - 1, 1)
    reciprocal, first = _expected_first(ties, questions)
    return _Hits(ties.question[group], rank, correct / size, (above + 1) / rank, reciprocal=reciprocal, first=first)


def _expected_first(ties: _Ties, questions: int) -> tuple[FloatArray, FloatArray]:
    """Return the expected reciprocal rank and rank of the first correct candidate, which the first such group holds."""
    group = np.flatnonzero((ties.correct > 0) & (ties.correct_before == 0))
    before, size, correct = ties.before[group], ties.size[group], ties.correct[group]
    first = np.full(questions, np.nan)
    first[ties.question[group]] = before + (size + 1) / (correct + 1)
    reciprocal = np.zeros(questions)
    reciprocal[ties.question[group]] = _expected_reciprocal(before, size, correct)
    return reciprocal, first


def _expected_reciprocal(before: IntArray, size: IntArray, correct: IntArray) -> FloatArray:
    """Average 1/rank of the first correct candidate of a group, for many groups.

    The chance that it takes place j (from 0) is r/(n-j) times the chance that the j places above are all incorrect,
    which is the product of (n-r-i)/(n-i) over i < j: a running product, no factorials that overflow.
    """
    value = 1 / (before + 1)
    places = size - correct + 1
    order = np.argsort(-places, kind="stable")
    order = order[places[order] > 1]
    value[order] = 0
    none_above = np.ones(order.size)
    place = 0
    while order.size:
        width = max(1, min(int(places[order[0]]) - place, _CHANCES_AT_ONCE // order.size))
        j = np.arange(place, place + width)
        n, r = size[order, None], correct[order, None]
        left = np.maximum(n - j, 1)
        none = none_above[:, None] * np.cumprod(np.maximum(n - r - j, 0) / left, axis=1)
        none_before = np.column_stack([none_above, none[:, :-1]])
        value[order] += (none_before * r / left / (before[order, None] + 1 + j)).sum(axis=1)
        place += width
        is_open = places[order] > place
        order, none_above = order[is_open], none[is_open, -1]
    return value


def _bounded_values(kind: Measure, positives: IntArray, hits: tuple[_Hits, _Hits, _Hits]) -> QuestionValues:
    value, worst, best = (_values(kind, positives, each) for each in hits)
    # The closed form may leave the bounds by a rounding error where all orders are equal.
    return QuestionValues(np.clip(value, worst, best), worst, best)


def _values(kind: Measure, positives: IntArray, hits: _Hits) -> FloatArray:
    """Compute one measure of every question [Q]."""
    if kind.kind == "MRR":
        return hits.reciprocal
    total = np.maximum(positives, 1)
    if kind.cutoff is None:
        return _sum_by(hits.question, hits.chance * hits.precision, positives.size) / total
    is_within = hits.rank <= kind.cutoff
    question, chance, rank = hits.question[is_within], hits.chance[is_within], hits.rank[is_within]
    if kind.kind == "nDCG":
        gain = _sum_by(question, chance / np.log2(rank + 1), positives.size)
        return gain / np.maximum(_ideal_gain(positives, kind.cutoff), 1)
    return _sum_by(question, chance, positives.size) / (kind.cutoff if kind.kind == "P" else total)


def _ideal_gain(positives: IntArray, cutoff: int) -> FloatArray:
    """Return the DCG [Q] of a ranking with every correct candidate on top."""
    depth = np.minimum(positives, cutoff)
    gains = np.cumsum(1 / np.log2(np.arange(int(depth.max(initial=0))) + 2))
    return np.concatenate([[0.0], gains])[depth]


def _sum_by(question: IntArray, amounts: FloatArray, questions: int) -> FloatArray:
    """Sum amounts by question; bincount adds them in order, as a plain loop over ranks would, to the last bit."""
    sums: FloatArray = np.bincount(question, weights=amounts, minlength=questions).astype(np.float64, copy=False)
    return sums
