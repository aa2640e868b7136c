"""Calibration and abstention against numbers computed by hand and against data of known slope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.errors import DataError
from anselect.evaluation.calibration import (
    Calibration,
    expected_calibration_error,
    fit_calibration,
    measure_abstention,
    reliability,
    sigmoid,
)


def test_fit_finds_the_slope_and_intercept_that_made_the_labels() -> None:
    chance = np.random.default_rng(0)
    logits = chance.normal(0.0, 4.0, 200_000)
    labels = (chance.random(200_000) < sigmoid(0.5 * logits - 1.0)).astype(int)
    found = fit_calibration(logits, labels.tolist())
    assert found.slope == pytest.approx(0.5, abs=0.01)
    assert found.intercept == pytest.approx(-1.0, abs=0.02)


def test_constant_logits_give_the_share_of_correct_ones() -> None:
    found = fit_calibration([0.0] * 10, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert found.probabilities([0.0])[0] == pytest.approx(0.1, abs=1e-3)


def test_perfectly_separated_scores_have_a_finite_slope() -> None:
    found = fit_calibration([-9.0, -8.0, 8.0, 9.0], [0, 0, 1, 1])
    assert 0.0 < found.slope < 100.0
    assert np.isfinite(found.intercept)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.floats(0.01, 50.0), st.floats(-50.0, 50.0))
def test_calibration_never_turns_an_order_round(logits: list[float], slope: float, intercept: float) -> None:
    found = Calibration(slope, intercept).probabilities(sorted(logits))
    assert (np.diff(found) >= 0.0).all()
    assert ((found >= 0.0) & (found <= 1.0)).all()


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [([1.0, 2.0], [1, 1], "one kind only"), ([], [], "one kind only"), ([1.0, -1.0] * 9, [0, 1] * 9, "a slope of -")],
)
def test_what_cannot_be_calibrated_is_refused(logits: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_calibration(logits, labels)


def test_reliability_of_known_scores() -> None:
    bins = reliability([0.05, 0.15, 0.15, 1.0, 0.95], [0, 0, 1, 1, 0], bins=10)
    assert [(round(part.mean_score, 3), part.share_correct, part.count) for part in bins] == [
        (0.05, 0.0, 1),
        (0.15, 0.5, 2),
        (0.975, 0.5, 2),
    ]
    # (1 · 0.05 + 2 · 0.35 + 2 · 0.475) / 5
    assert expected_calibration_error(bins) == pytest.approx(0.34)


def test_abstention_of_known_scores() -> None:
    found = measure_abstention([0.9, 0.8, 0.3, 0.1], [True, False, True, False], [True, True, True, False])
    assert found.auroc == 1.0
    assert found.risk == pytest.approx((0.0, 1 / 2, 1 / 3, 2 / 4))
    assert found.coverage == (0.25, 0.5, 0.75, 1.0)
    assert found.risk_area == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_constant_scores_tell_nothing_whatever_the_order_of_questions() -> None:
    right, answerable = [True, True, False, False], [True, True, True, False]
    forwards = measure_abstention([0.5] * 4, right, answerable)
    backwards = measure_abstention([0.5] * 4, right[::-1], answerable[::-1])
    assert forwards.auroc == backwards.auroc == 0.5
    assert forwards.risk == backwards.risk == (0.5, 0.5, 0.5, 0.5)


def test_abstention_needs_both_kinds_of_questions() -> None:
    with pytest.raises(DataError, match="with and without an answer"):
        measure_abstention([0.5], [True], [True])
