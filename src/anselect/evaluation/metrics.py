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
class _Groups:
    """The groups of equal scores that hold a correct candidate, best group first, question after question."""

    question: IntArray
    before: IntArray
    """How many candidates of the question stand above the group."""
    correct_before: IntArray
    """How many of them are correct."""
    size: IntArray
    correct: IntArray


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

    tie_order [C] lists the candidates, question after question, in the order in which equal scores fall; without it the
    value is the expectation over all orders. is_found [C] takes candidates out of the ranking, while correct ones among
    them still count as missed. A question without a correct candidate gets 0 in every measure.
    """
    kinds = {name: Measure.parse(name) for name in measures}
    sizes, is_correct, scores, tie_order = _only_found(judgements, scores, tie_order, is_found)
    order = order_candidates(sizes, scores, tie_order)
    correct_at = np.flatnonzero(is_correct[order])
    starts_group = _starts_group(sizes, scores[order])
    hits = _find_hits(sizes, starts_group, correct_at, is_strict=tie_order is not None)
    positives = judgements.positives
    return Measured(
        measures={name: _bounded_values(kind, positives, hits) for name, kind in kinds.items()},
        tied_pairs=_tied_pairs(sizes, starts_group),
        first_correct=hits[0].first,
    )


def _only_found(
    judgements: Judgements, scores: FloatArray, tie_order: IntArray | None, is_found: BoolArray | None
) -> tuple[IntArray, BoolArray, FloatArray, IntArray | None]:
    if is_found is None or is_found.all():
        return judgements.sizes, judgements.is_correct, scores, tie_order
    sizes = np.bincount(judgements.question_of[is_found], minlength=judgements.sizes.size)
    if tie_order is not None:
        tie_order = (np.cumsum(is_found) - 1)[tie_order[is_found[tie_order]]]
    return sizes, judgements.is_correct[is_found], scores[is_found], tie_order


def _starts_group(sizes: IntArray, scores: FloatArray) -> BoolArray:
    """Mark the sorted candidates [C] whose score differs from the one above, or that have none above."""
    starts = np.ones(scores.size, dtype=np.bool_)
    starts[1:] = scores[1:] != scores[:-1]
    starts[(np.cumsum(sizes) - sizes)[sizes > 0]] = True
    return starts


def _tied_pairs(sizes: IntArray, starts_group: BoolArray) -> IntArray:
    """Count the pairs [Q] of equal scores: n(n-1)/2 in a group of n, that is for each member the members above it."""
    start = np.flatnonzero(starts_group)
    size = np.diff(start, append=starts_group.size)
    start, size = start[size > 1], size[size > 1]
    question = np.searchsorted(np.cumsum(sizes), start, side="right")
    return _sum_by(question, size * (size - 1) / 2, sizes.size).astype(np.int64)


def _find_hits(
    sizes: IntArray, starts_group: BoolArray, correct_at: IntArray, *, is_strict: bool
) -> tuple[_Hits, _Hits, _Hits]:
    """Return where correct candidates stand: as the ranking says, at worst, at best."""
    groups = _find_groups(sizes, starts_group, correct_at)
    best = _ordered_hits(groups, groups.before, sizes.size)
    if not (groups.size > groups.correct).any():
        return best, best, best
    worst = _ordered_hits(groups, groups.before + groups.size - groups.correct, sizes.size)
    if not is_strict:
        return _expected_hits(groups, sizes.size), worst, best
    alone = _find_groups(sizes, np.ones_like(starts_group), correct_at)
    return _ordered_hits(alone, alone.before, sizes.size), worst, best


def _find_groups(sizes: IntArray, starts_group: BoolArray, correct_at: IntArray) -> _Groups:
    """Gather the places of the correct candidates, in sorted order, into groups of equal scores."""
    start = np.flatnonzero(starts_group)
    group_of = np.cumsum(starts_group)[correct_at] - 1
    is_new = np.diff(group_of, prepend=-1) > 0
    group_at, correct = group_of[is_new], np.diff(np.flatnonzero(is_new), append=group_of.size)
    size = np.append(start, starts_group.size)[group_at + 1] - start[group_at]
    start = start[group_at]
    ends = np.cumsum(sizes)
    question = np.searchsorted(ends, start, side="right")
    above = np.cumsum(correct) - correct
    is_first = np.diff(question, prepend=-1) > 0
    return _Groups(
        question=question,
        before=start - (ends - sizes)[question],
        correct_before=above - above[is_first][np.cumsum(is_first) - 1],
        size=size,
        correct=correct,
    )


def _ordered_hits(groups: _Groups, above: IntArray, questions: int) -> _Hits:
    """Let the correct candidates of each group follow each other, below so many candidates of the question."""
    group, place = _members(groups.correct)
    rank = above[group] + place + 1
    number = groups.correct_before[group] + place + 1
    first = np.full(questions, np.nan)
    is_first = number == 1
    first[groups.question[group[is_first]]] = rank[is_first]
    reciprocal = np.nan_to_num(1 / first)
    return _Hits(groups.question[group], rank, np.ones(rank.size), number / rank, reciprocal, first)


def _expected_hits(groups: _Groups, questions: int) -> _Hits:
    """Average over all orders of each group.

    In a group of n candidates of which r are correct, each place holds a correct one with chance r/n, and given that,
    each other place of the group does with chance (r-1)/(n-1).
    """
    group, place = _members(groups.size)
    size, correct = groups.size[group], groups.correct[group]
    rank = groups.before[group] + place + 1
    above = groups.correct_before[group] + place * (correct - 1) / np.maximum(size - 1, 1)
    reciprocal, first = _expected_first(groups, questions)
    return _Hits(groups.question[group], rank, correct / size, (above + 1) / rank, reciprocal, first)


def _members(sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each member of groups of such sizes its group and its place in it, from 0."""
    group = np.repeat(np.arange(sizes.size), sizes)
    return group, np.arange(group.size) - (np.cumsum(sizes) - sizes)[group]


def _expected_first(groups: _Groups, questions: int) -> tuple[FloatArray, FloatArray]:
    """Return the expected reciprocal rank and rank of the first correct candidate, which the first such group holds."""
    group = np.flatnonzero(groups.correct_before == 0)
    before, size, correct = groups.before[group], groups.size[group], groups.correct[group]
    first = np.full(questions, np.nan)
    first[groups.question[group]] = before + (size + 1) / (correct + 1)
    reciprocal = np.zeros(questions)
    reciprocal[groups.question[group]] = _expected_reciprocal(before, size, correct)
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
