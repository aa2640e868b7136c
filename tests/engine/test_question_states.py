"""Batches for a model that reads each question once: each row once, nothing padded, few questions kept at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anselect.engine.batching import TOKENS_PER_BATCH, Row
from anselect.engine.question_states import QUESTION_TOKENS, candidate_batches, parts_of, question_batches
from tests.engine.test_batching import BERT

LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 90)), max_size=60)


def rows_of(lengths: list[tuple[int, int]]) -> list[Row]:
    """Questions of one length are the same one."""
    return [Row(place, np.full(q, q), np.full(c, 6)) for place, (q, c) in enumerate(lengths)]


@given(lengths=LENGTHS, threads=st.integers(1, 4))
def test_each_question_is_read_once_and_each_row_once_beside_its_own(
    lengths: list[tuple[int, int]], threads: int
) -> None:
    rows = rows_of(lengths)
    asked = list(question_batches(rows, BERT, threads=threads))
    keys = [key for batch in asked for key in batch.keys]
    assert sorted(keys) == sorted({row.question.tobytes() for row in rows})
    for questions in asked:
        assert (questions.ids[:, 0] == 101).all()
        assert (questions.ids[:, -1] == 102).all()
    # A state that tells which question it is of, whatever a model would make of it.
    states = {row.question.tobytes(): np.full((len(row.question) + 2, 1), len(row.question)) for row in rows}
    batches = list(candidate_batches(rows, states, BERT, threads=threads))
    assert {int(pair) for batch in batches for pair in batch.pairs} == set(range(len(rows)))
    for batch in batches:
        ids, owners, memory = (batch.inputs[name] for name in ("ids", "owners", "memory"))
        assert {lengths[pair][1] + 1 for pair in batch.pairs} == {ids.shape[1]}
        assert memory[owners, 0, 0].tolist() == [lengths[pair][0] for pair in batch.pairs]
        assert len(ids) == 1 or ids.size <= max(TOKENS_PER_BATCH, 2)
        assert ids.size > 1


@given(lengths=st.lists(st.tuples(st.integers(1, 2000), st.integers(0, 9)), max_size=30))
def test_states_of_a_bounded_number_of_tokens_are_kept_at_a_time(lengths: list[tuple[int, int]]) -> None:
    rows = rows_of(lengths)
    parts = list(parts_of(rows, BERT))
    assert [row.pair for part in parts for row in part] == list(range(len(rows)))
    for part in parts:
        distinct = {len(row.question) for row in part}
        assert len(distinct) == 1 or sum(length + 3 for length in distinct) <= QUESTION_TOKENS
