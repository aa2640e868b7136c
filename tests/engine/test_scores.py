from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.engine.scores import to_scores

LOGITS = st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=20)
USUAL = st.lists(st.floats(-80, 22, width=32), min_size=2, max_size=20)


def test_scores_are_sigmoids_of_calibrated_logits() -> None:
    found = to_scores(np.array([0.0, 2.0, -2.0, 3.0]), temperature=2.0, bias=1.0)
    assert found.tolist() == pytest.approx([0.7310585786, 0.8807970780, 0.5, 0.9241418200], abs=1e-9)


def test_score_goes_on_where_the_sigmoid_is_left() -> None:
    below, above = to_scores(np.array([20.0, np.nextafter(20.0, 21.0)]))
    assert below == pytest.approx(above, abs=1e-15)


def test_nan_stays_nan() -> None:
    assert np.isnan(to_scores(np.array([np.nan, 1.0]))).tolist() == [True, False]


@given(values=LOGITS)
def test_scores_lie_inside_and_keep_the_order(values: list[float]) -> None:
    logits = np.sort(np.array(values, dtype=np.float64))
    scores = to_scores(logits)
    assert ((scores > 0) & (scores < 1)).all()
    assert (np.diff(scores) >= 0).all()


@given(values=USUAL)
def test_scores_tie_only_where_logits_do(values: list[float]) -> None:
    logits = np.unique(np.array(values, dtype=np.float32)).astype(np.float64)
    # Below the smallest normal float32 the difference of two logits vanishes beside 1.
    logits = logits[np.abs(logits) > 1e-6]
    assert (np.diff(to_scores(logits)) > 0).all()
