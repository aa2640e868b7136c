from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.errors import UsageError
from anselect.evaluation.judgements import Judgements
from anselect.evaluation.metrics import DEFAULT_MEASURES, Measure, measure_questions
from anselect.evaluation.ordering import order_candidates

MEASURES = ("MAP", "MRR", "P@1", "P@3", "R@2", "nDCG@3")

# A question is a list of (label, score); few distinct scores, so that ties are the rule.
questions_strategy = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=0, max_size=5), min_size=1, max_size=4
)


def judge(questions: list[list[tuple[bool, Any]]]) -> tuple[Judgements, np.ndarray[Any, np.dtype[np.float64]]]:
    flat = [entry for question in questions for entry in question]
    sizes = np.array([len(question) for question in questions], dtype=np.int64)
    labels = np.array([label for label, _ in flat], dtype=np.bool_)
    return Judgements(sizes, labels), np.array([score for _, score in flat], dtype=np.float64)


def plain_values(labels: list[bool]) -> dict[str, float]:
    """The textbook definitions on labels in rank order."""
    positives = sum(labels)
    ranks = [rank for rank, label in enumerate(labels, start=1) if label]
    if not ranks:
        return dict.fromkeys(MEASURES, 0.0)
    dcg = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 3)
    return {
        "MAP": sum(number / rank for number, rank in enumerate(ranks, start=1)) / positives,
        "MRR": 1 / ranks[0],
        "P@1": float(labels[0]),
        "P@3": sum(labels[:3]) / 3,
        "R@2": sum(labels[:2]) / positives,
        "nDCG@3": dcg / sum(1 / math.log2(rank + 1) for rank in range(1, min(positives, 3) + 1)),
    }


def enumerate_orders(question: list[tuple[bool, int]]) -> list[dict[str, float]]:
    """The values of every order that is sorted by score."""
    orders = itertools.permutations(question)
    return [
        plain_values([label for label, _ in order])
        for order in orders
        if all(above[1] >= below[1] for above, below in itertools.pairwise(order))
    ]


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        pytest.param([1, 0, 1], [3, 2, 1], (5 / 6, 5 / 6, 5 / 6), id="no_ties"),
        pytest.param([1, 0], [1, 1], (0.75, 0.5, 1.0), id="tie_at_top"),
        pytest.param([1, 1], [1, 1], (1.0, 1.0, 1.0), id="tie_of_correct"),
        pytest.param([0, 0], [1, 1], (0.0, 0.0, 0.0), id="no_positive"),
        pytest.param([0, 1, 0], [5, 1, 1], ((1 / 2 + 1 / 3) / 2, 1 / 3, 1 / 2), id="tie_below_top"),
        pytest.param([], [], (0.0, 0.0, 0.0), id="no_candidates"),
    ],
)
def test_average_precision_known_value(labels: list[int], scores: list[float], expected: tuple[float, ...]) -> None:
    judgements = Judgements(np.array([len(labels)]), np.array(labels, dtype=np.bool_))
    found = measure_questions(judgements, np.array(scores, dtype=np.float64)).measures["MAP"]
    assert (found.value[0], found.worst[0], found.best[0]) == pytest.approx(expected, abs=1e-15)


@settings(deadline=None, max_examples=40)
@given(questions_strategy)
def test_values_equal_the_average_over_all_tie_orders(questions: list[list[tuple[bool, int]]]) -> None:
    judgements, scores = judge(questions)
    measured = measure_questions(judgements, scores, measures=MEASURES)
    for place, question in enumerate(questions):
        orders = enumerate_orders(question)
        for name, found in measured.measures.items():
            values = [order[name] for order in orders]
            assert found.value[place] == pytest.approx(math.fsum(values) / len(values), abs=1e-14)
            assert found.worst[place] == pytest.approx(min(values), abs=1e-15)
            assert found.best[place] == pytest.approx(max(values), abs=1e-15)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.booleans(), max_size=30), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_values_without_ties_equal_the_definitions_to_the_last_bit(labels: list[list[bool]], random: Any) -> None:
    questions = [[(label, -rank) for rank, label in enumerate(question)] for question in labels]
    shuffled = [random.sample(question, len(question)) for question in questions]
    judgements, scores = judge(shuffled)
    measured = measure_questions(judgements, scores, measures=("MAP", "MRR", "P@1", "P@3", "R@2"))
    for place, question in enumerate(labels):
        plain = plain_values(question)
        for name, found in measured.measures.items():
            assert found.value[place] == found.worst[place] == found.best[place] == plain[name]


@settings(deadline=None, max_examples=40)
@given(questions_strategy)
def test_value_lies_between_worst_and_best(questions: list[list[tuple[bool, int]]]) -> None:
    judgements, scores = judge(questions)
    for found in measure_questions(judgements, scores).measures.values():
        assert (found.worst <= found.value).all()
        assert (found.value <= found.best).all()
        assert (found.worst >= 0).all()
        assert (found.best <= 1).all()


@settings(deadline=None, max_examples=40)
@given(questions_strategy, st.randoms(use_true_random=False))
def test_shuffling_candidates_changes_nothing(questions: list[list[tuple[bool, int]]], random: Any) -> None:
    shuffled = [random.sample(question, len(question)) for question in questions]
    before, after = (measure_questions(*judge(each), measures=MEASURES) for each in (questions, shuffled))
    assert before.tied_pairs.tolist() == after.tied_pairs.tolist()
    for name in MEASURES:
        assert before.measures[name].value.tolist() == after.measures[name].value.tolist()


@settings(deadline=None, max_examples=40)
@given(questions_strategy)
def test_increasing_map_of_scores_changes_nothing(questions: list[list[tuple[bool, int]]]) -> None:
    judgements, scores = judge(questions)
    before, after = measure_questions(judgements, scores), measure_questions(judgements, np.exp(scores) - 7)
    assert all((before.measures[name].value == after.measures[name].value).all() for name in DEFAULT_MEASURES)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.booleans(), min_size=2, max_size=12), st.data())
def test_moving_a_correct_candidate_up_never_lowers_a_value(labels: list[bool], data: Any) -> None:
    place = data.draw(st.integers(1, len(labels) - 1))
    if not labels[place]:
        return
    scores = -np.arange(len(labels), dtype=np.float64)
    raised = scores.copy()
    raised[[place - 1, place]] = raised[[place, place - 1]]
    judgements = Judgements(np.array([len(labels)]), np.array(labels))
    before, after = (measure_questions(judgements, each).measures for each in (scores, raised))
    assert all(after[name].value[0] >= before[name].value[0] for name in DEFAULT_MEASURES)


def test_tied_pairs_counts_every_pair_of_equal_scores() -> None:
    judgements, scores = judge([[(True, 1), (False, 1), (False, 1), (True, 0)], [(False, 2)], [(False, 5), (True, 5)]])
    assert measure_questions(judgements, scores).tied_pairs.tolist() == [3, 0, 1]


def test_equal_scores_of_neighbouring_questions_are_no_tie() -> None:
    judgements, scores = judge([[(False, 2), (True, 1)], [(True, 1), (False, 0)]])
    measured = measure_questions(judgements, scores)
    assert measured.tied_pairs.tolist() == [0, 0]
    assert measured.measures["MAP"].value.tolist() == [0.5, 1.0]


def test_first_correct_is_the_expected_rank() -> None:
    judgements, scores = judge([[(False, 3), (True, 1), (False, 1), (True, 1)], [(False, 0)], []])
    # One candidate above, then the first of 2 correct among 3: rank 1 + (3 + 1) / (2 + 1).
    first = measure_questions(judgements, scores).first_correct
    assert first[0] == pytest.approx(1 + 4 / 3)
    assert np.isnan(first[1:]).all()


def test_tie_order_decides_ties_and_leaves_the_bounds() -> None:
    judgements, scores = judge([[(False, 1), (True, 1), (False, 1)]])
    found = measure_questions(judgements, scores, tie_order=np.array([2, 1, 0])).measures["MRR"]
    assert (found.value[0], found.worst[0], found.best[0]) == (1 / 2, 1 / 3, 1)


@pytest.mark.parametrize("tie_order", [None, np.array([2, 1, 0])])
def test_candidates_not_found_are_missed_not_ranked(tie_order: Any) -> None:
    judgements, scores = judge([[(False, 2), (True, 1), (True, 0)]])
    is_found = np.array([True, True, False])
    found = measure_questions(judgements, scores, tie_order=tie_order, is_found=is_found).measures
    assert found["MAP"].value[0] == 1 / 2 / 2
    assert found["R@5"].value[0] == 1 / 2


def test_large_tie_keeps_its_precision() -> None:
    # One correct candidate among n equal ones: the mean of 1/rank is the n-th harmonic number over n.
    n = 200_000
    judgements = Judgements(np.array([n]), np.arange(n) == 17)
    found = measure_questions(judgements, np.zeros(n), measures=("MAP", "MRR")).measures
    harmonic = math.fsum(1 / rank for rank in range(1, n + 1)) / n
    assert found["MRR"].value[0] == pytest.approx(harmonic, rel=1e-12)
    assert found["MAP"].value[0] == pytest.approx(harmonic, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(questions_strategy)
def test_order_candidates_sorts_by_score_then_by_tie_order(questions: list[list[tuple[bool, int]]]) -> None:
    judgements, scores = judge(questions)
    backwards = -np.arange(scores.size)
    tie_order = np.lexsort((backwards, judgements.question_of))
    expected = np.lexsort((backwards, -scores, judgements.question_of))
    assert order_candidates(judgements.sizes, scores, tie_order).tolist() == expected.tolist()


def test_order_candidates_puts_missing_ones_last() -> None:
    order = order_candidates(np.array([3, 5]), np.array([-np.inf, 1, 0, 4, -np.inf, 5, -np.inf, 6]))
    assert order.tolist() == [1, 2, 0, 7, 5, 3, 4, 6]


@pytest.mark.parametrize("name", ["map", "P", "P@0", "P@-1", "P@1.5", "MAP@5", "F1", ""])
def test_unknown_measure_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="known are MAP, MRR"):
        Measure.parse(name)
