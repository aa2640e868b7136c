from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.engine.batching import TOKENS_PER_BATCH, Row, fit_pair, fit_question, make_batches, window_starts
from anselect.engine.tokens import Encoded, Ids, PairTemplate


def ids(*values: int) -> Ids:
    return np.array(values, dtype=np.int64)


BERT = PairTemplate((ids(101), ids(0)), (ids(102), ids(0)), (ids(102), ids(1)), 0, 1)


def fit(question: int, candidate: int, room: int, *, windows: bool = False) -> tuple[list[tuple[int, int]], bool]:
    rows, is_cut = fit_pair(
        7, Encoded(np.arange(question), True), Encoded(np.arange(candidate), True), room, windows=windows
    )
    return [(len(row.question), len(row.candidate)) for row in rows], is_cut


@pytest.mark.parametrize(
    ("question", "candidate", "sizes", "is_cut"),
    [(4, 6, (4, 6), False), (4, 7, (4, 6), True), (9, 1, (9, 1), False), (9, 4, (6, 4), True), (30, 30, (5, 5), True)],
)
def test_pair_is_cut_to_the_room(question: int, candidate: int, sizes: tuple[int, int], is_cut: bool) -> None:
    assert fit(question, candidate, 10) == ([sizes], is_cut)


def test_cut_question_keeps_its_start() -> None:
    assert fit_question(np.arange(100), 100, 11).tolist() == [0, 1, 2, 3, 4, 5]


def test_windows_read_the_whole_candidate_and_cut_nothing() -> None:
    assert fit(4, 15, 10, windows=True) == ([(4, 6)] * 4, False)


def test_text_that_was_not_read_whole_counts_as_cut() -> None:
    rows, is_cut = fit_pair(0, Encoded(ids(1), True), Encoded(ids(2, 3), False), 10, windows=True)
    assert (len(rows), is_cut) == (1, True)


@given(tokens=st.integers(0, 300), size=st.integers(1, 60))
def test_windows_cover_every_token(tokens: int, size: int) -> None:
    starts = list(window_starts(tokens, size))
    covered = {place for start in starts for place in range(start, min(start + size, tokens))}
    assert covered == set(range(tokens))
    assert all(start + size <= tokens for start in starts[1:])


def test_row_becomes_a_bert_pair() -> None:
    (batch,) = make_batches([Row(3, ids(7, 8), ids(9))], BERT, threads=1)
    assert batch.pairs.tolist() == [3]
    assert {name: array.tolist() for name, array in batch.inputs.items()} == {
        "ids": [[101, 7, 8, 102, 9, 102]],
        "segments": [[0, 0, 0, 0, 1, 1]],
        "question_mask": [[False, True, True, False, False, False]],
        "candidate_mask": [[False, False, False, False, True, False]],
    }


@given(
    lengths=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 90)), max_size=60),
    threads=st.integers(1, 4),
)
def test_batches_hold_each_row_once_without_padding_and_within_the_budget(
    lengths: list[tuple[int, int]], threads: int
) -> None:
    rows = [Row(place, np.full(q, 5), np.full(c, 6)) for place, (q, c) in enumerate(lengths)]
    batches = list(make_batches(rows, BERT, threads=threads))
    assert sorted(pair for batch in batches for pair in batch.pairs) == list(range(len(rows)))
    for batch in batches:
        shape = batch.inputs["ids"].shape
        assert {sum(lengths[pair]) + 3 for pair in batch.pairs} == {shape[1]}
        assert shape[0] == 1 or shape[0] * shape[1] <= TOKENS_PER_BATCH


def test_one_question_is_dealt_out_to_the_threads() -> None:
    rows = [Row(place, np.full(4, 5), np.full(9, 6)) for place in range(20)]
    assert [len(batch.pairs) for batch in make_batches(rows, BERT, threads=2)] == [10, 10]
