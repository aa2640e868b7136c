from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.training.sampling import MAX_LIST, draw_units, make_batches, padded_share

# Question 0: rows 0-3, one right. 1: rows 4-5, both right. 2: rows 6-8, none right. 3: rows 9-11, two right.
GROUPS = [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9, 10, 11]]
LABELS = [0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1]


def test_pointwise_takes_every_row_once() -> None:
    drawn = draw_units(GROUPS, LABELS, loss="cross-entropy", negatives=1, seed=(0, 0))
    assert drawn.units == [(row,) for row in range(12)]
    assert drawn.left_out == 0


def test_pairwise_with_all_negatives_is_every_pair() -> None:
    drawn = draw_units(GROUPS, LABELS, loss="bertsel", negatives=0, seed=(0, 0))
    assert drawn.units == [(1, 0), (1, 2), (1, 3), (9, 10), (11, 10)]
    assert drawn.left_out == 2


def test_pairwise_samples_each_epoch_anew_and_the_same_for_the_same_seed() -> None:
    epochs = [draw_units(GROUPS, LABELS, loss="ranknet", negatives=2, seed=(7, epoch)).units for epoch in range(8)]
    again = [draw_units(GROUPS, LABELS, loss="ranknet", negatives=2, seed=(7, epoch)).units for epoch in range(8)]
    assert epochs == again
    assert len({tuple(sorted(units)) for units in epochs}) > 1
    assert all(Counter(positive for positive, _ in units) == {1: 2, 9: 1, 11: 1} for units in epochs)


def test_listwise_keeps_positives_and_bounds_the_list() -> None:
    labels = [1] + [0] * 40
    drawn = draw_units([list(range(41))], labels, loss="listwise-softmax", negatives=1, seed=(0, 0))
    assert len(drawn.units[0]) == MAX_LIST
    assert drawn.units[0][0] == 0
    assert len(set(drawn.units[0])) == MAX_LIST


def test_listwise_leaves_out_what_teaches_no_order() -> None:
    drawn = draw_units(GROUPS, LABELS, loss="listwise-softmax", negatives=1, seed=(0, 0))
    assert [sorted(unit) for unit in drawn.units] == [[0, 1, 2, 3], [9, 10, 11]]
    assert drawn.left_out == 2


@given(st.lists(st.integers(1, 90), min_size=1, max_size=300), st.integers(1, 40), st.booleans(), st.integers(0, 5))
def test_batches_hold_every_unit_once_and_only_the_last_is_short(
    sizes: list[int], batch_size: int, group_by_length: bool, epoch: int
) -> None:
    units = [(row,) for row in range(len(sizes))]
    lengths = np.array(sizes)
    batches = make_batches(units, lengths, batch_size=batch_size, group_by_length=group_by_length, seed=(3, epoch))
    assert sorted(unit for batch in batches for unit in batch) == units
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert 0 <= padded_share(batches, lengths) < 1


def test_grouping_by_length_saves_padding() -> None:
    lengths = np.random.default_rng(0).integers(5, 120, size=2000)
    units = [(row,) for row in range(2000)]
    shares = [
        padded_share(make_batches(units, lengths, batch_size=32, group_by_length=grouped, seed=(0, 0)), lengths)
        for grouped in (False, True)
    ]
    assert shares[1] < 0.05 < 0.4 < shares[0]


def test_padded_share_is_the_hand_computed_one() -> None:
    assert padded_share([[(0,), (1,)], [(2,)]], np.array([4, 2, 3])) == pytest.approx(2 / 11)
