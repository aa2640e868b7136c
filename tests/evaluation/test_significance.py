from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.errors import MissingExtraError, UsageError
from anselect.evaluation.significance import (
    Interval,
    RandomisationTest,
    adjust_holm,
    bootstrap_interval,
    compare_paired,
    paired_t_test,
    randomisation_test,
)

# Student's sleep data (1908) and Darwin's maize (height in inches), which Fisher (1935) took for the first
# randomisation test: 863 of the 32,768 sign patterns give at least the observed sum.
SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
MAIZE_CROSSED = [23.5, 12, 21, 22, 19.125, 21.5, 22.125, 20.375, 18.25, 21.625, 23.25, 21, 22.125, 23, 12]
MAIZE_SELFED = [17.375, 20.375, 20, 20, 18.375, 18.625, 18.625, 15.25, 16.5, 18, 16.25, 18, 12.75, 15.5, 18]

# As average precision has them: fractions between 0 and 1.
VALUE = st.integers(0, 60).map(lambda sixtieths: sixtieths / 60)
PAIRS = st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=40)


def split(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [ours for ours, _ in pairs], [theirs for _, theirs in pairs]


def test_paired_t_test_on_students_sleep_data() -> None:
    assert paired_t_test(SLEEP_B, SLEEP_A) == pytest.approx(0.002833, abs=5e-7)


def test_paired_t_test_on_darwins_maize() -> None:
    assert paired_t_test(MAIZE_CROSSED, MAIZE_SELFED) == pytest.approx(0.0497, abs=5e-5)


def test_randomisation_test_on_darwins_maize_counts_as_fisher_did() -> None:
    assert randomisation_test(MAIZE_CROSSED, MAIZE_SELFED) == RandomisationTest(2 * 863 / 2**15, is_exact=True)


def test_randomisation_test_leaves_out_questions_without_difference() -> None:
    # Nine of Student's ten patients gained, one did not change: 2 of 2^9 sign patterns are as extreme.
    assert randomisation_test(SLEEP_B, SLEEP_A) == RandomisationTest(2 / 2**9, is_exact=True)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        pytest.param([0.5], 1.0, id="one_question"),
        pytest.param([0.5, 0.5], 0.5, id="two_alike"),
        pytest.param([0.5, 0.25, 0.0], 0.5, id="two_of_three"),
        pytest.param([0.5, -0.5], 1.0, id="one_each"),
        pytest.param([3, 2, 1, -1], 2 * 3 / 16, id="four"),  # the sums 7, 5, 5 and their mirror images
    ],
)
def test_randomisation_test_by_hand(differences: list[float], p: float) -> None:
    assert randomisation_test(differences, [0.0] * len(differences)) == RandomisationTest(p, is_exact=True)


def test_randomisation_test_draws_near_the_exact_value() -> None:
    # 17 questions that differ are too many to try all; the exact p for these is known by counting in a table.
    differences = np.array([1.0] * 13 + [-1.0] * 4)
    sums = sum(math.comb(17, losses) for losses in range(5))
    found = randomisation_test(differences, np.zeros(17), seed=3)
    assert not found.is_exact
    assert found.p == pytest.approx(2 * sums / 2**17, abs=0.005)


def test_randomisation_test_never_says_0() -> None:
    assert randomisation_test(np.ones(200), np.zeros(200), resamples=999).p == pytest.approx(2 / 1000)


def test_bootstrap_interval_of_two_questions_spans_both() -> None:
    assert bootstrap_interval([1.0, 0.25], [0.0, 0.25]) == Interval(0.0, 1.0)


def test_bootstrap_interval_is_near_the_normal_one_for_many_symmetric_differences() -> None:
    differences = np.linspace(-0.4, 0.6, 401)
    error = differences.std(ddof=1) / math.sqrt(401)
    found = bootstrap_interval(differences, np.zeros(401))
    assert found == pytest.approx((0.1 - 1.96 * error, 0.1 + 1.96 * error), abs=0.05 * error)


def test_bootstrap_interval_widens_with_confidence() -> None:
    narrow = bootstrap_interval(SLEEP_B, SLEEP_A, confidence=0.8)
    wide = bootstrap_interval(SLEEP_B, SLEEP_A, confidence=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < 1.58 < narrow.high < wide.high


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.04], [0.04], id="one"),
        pytest.param([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], id="four"),
        pytest.param([0.5, 0.4, 0.9], [1.0, 1.0, 1.0], id="capped_at_1"),
        pytest.param([0.02, 0.02, 0.02], [0.06, 0.06, 0.06], id="equal"),
        pytest.param([0.02, None, 0.03], [0.04, None, 0.04], id="undefined_is_not_counted"),
    ],
)
def test_adjust_holm(p_values: list[float | None], adjusted: list[float | None]) -> None:
    assert adjust_holm(p_values) == [None if p is None else pytest.approx(p) for p in adjusted]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_adjust_holm_keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    adjusted = [p for p in adjust_holm(p_values) if p is not None]
    assert all(0 <= p <= after <= min(1.0, p * len(p_values)) for p, after in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [adjusted[place] for place in order] == sorted(adjusted)


def test_identical_runs_differ_in_nothing() -> None:
    found = compare_paired([0.1, 0.5, 1.0], [0.1, 0.5, 1.0])
    assert (found.mean, found.interval, found.t_test, found.randomisation) == (0.0, (0.0, 0.0), 1.0, (1.0, True))
    assert (found.questions, found.wins, found.losses, found.ties) == (3, 0, 0, 3)


def test_rounding_is_no_difference() -> None:
    found = compare_paired([0.1 + 0.2, 0.5], [0.3, 0.5])
    assert (found.mean, found.ties, found.t_test) == (0.0, 2, 1.0)


def test_one_question_has_no_interval_and_no_t_test() -> None:
    found = compare_paired([1.0], [0.5])
    assert (found.mean, found.interval, found.t_test, found.randomisation.p, found.wins) == (0.5, None, None, 1.0, 1)


def test_the_same_difference_everywhere_has_no_t_test() -> None:
    found = compare_paired([0.3, 0.6, 0.9], [0.2, 0.5, 0.8])
    assert found.t_test is None
    assert found.interval == pytest.approx((0.1, 0.1))
    assert found.randomisation.p == pytest.approx(2 / 2**3)


def test_wins_losses_and_ties_are_counted() -> None:
    found = compare_paired([1.0, 0.5, 0.5, 0.2], [0.5, 0.5, 1.0, 0.1])
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert found.mean == pytest.approx(0.025)


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_exchanging_the_runs_turns_the_difference_round(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = split(pairs)
    found, turned = compare_paired(ours, theirs, resamples=500), compare_paired(theirs, ours, resamples=500)
    assert turned.mean == -found.mean
    assert (turned.wins, turned.losses, turned.ties) == (found.losses, found.wins, found.ties)
    assert turned.t_test == (None if found.t_test is None else pytest.approx(found.t_test))
    assert turned.randomisation.p == pytest.approx(found.randomisation.p, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_every_outcome_is_a_number_in_its_range(pairs: list[tuple[float, float]]) -> None:
    found = compare_paired(*split(pairs), resamples=300)
    assert found.wins + found.losses + found.ties == found.questions == len(pairs)
    assert 0 < found.randomisation.p <= 1
    assert found.t_test is None or 0 <= found.t_test <= 1
    if found.interval is None:
        assert found.questions == 1
    else:
        assert -1 <= found.interval.low <= found.interval.high <= 1


def test_the_seed_decides_what_is_drawn() -> None:
    generator = np.random.default_rng(7)
    ours, theirs = generator.random(60), generator.random(60)
    first = compare_paired(ours, theirs, seed=1, resamples=999)
    assert first == compare_paired(ours, theirs, seed=1, resamples=999)
    assert first != compare_paired(ours, theirs, seed=2, resamples=999)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        pytest.param([0.1, 0.2], [0.1], "same questions, got 2 and 1", id="lengths"),
        pytest.param([], [], "at least one question", id="empty"),
        pytest.param([math.nan], [0.5], "expected finite values", id="nan"),
        pytest.param([0.5], [math.inf], "expected finite values", id="infinite"),
        pytest.param([[0.5]], [[0.5]], "same questions", id="table"),
    ],
)
def test_bad_values_are_refused(ours: Any, theirs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare_paired(ours, theirs)


def test_missing_scipy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r"anselect\[train\]"):
        paired_t_test(SLEEP_A, SLEEP_B)
