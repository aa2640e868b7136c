"""Made-up sentences: what is taken out and put in, and what must stay."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.training.bundled.augment import (
    Answered,
    AnswerPool,
    as_users_write,
    with_answer,
    without_answer,
    without_topic,
)

PHONE = Answered("Who invented the telephone?", "The telephone was invented by Bell in 1876.", "Bell", "HUM")


def test_another_answer_takes_the_place_of_the_first_occurrence() -> None:
    item = Answered("Who?", "Bell and Bell made it.", "Bell", "HUM")
    assert with_answer(item, "Gray") == "Gray and Bell made it."


@pytest.mark.parametrize(
    ("sentence", "answer", "expected"),
    [
        ("The telephone was invented by Bell in 1876.", "Bell", "The telephone was invented in 1876."),
        ("It was shown at the Royal Society in London, twice.", "London", "It was shown at the Royal Society, twice."),
        ("It was shown to the queen of Spain by him.", "queen of Spain", "It was shown by him."),
        ("Bell invented the telephone.", "Bell", None),
        ("In 1876 it rang.", "1876", None),
        ("It rang in 1876.", "1876", None),
        ("It rang.", "1876", None),
    ],
)
def test_answer_is_taken_out_with_its_preposition_or_not_at_all(
    sentence: str, answer: str, expected: str | None
) -> None:
    assert without_answer(Answered("?", sentence, answer, "")) == expected


def test_topic_gives_way_to_a_pronoun_and_the_answer_stays() -> None:
    assert without_topic(PHONE, random.Random(0)) == "This was invented by Bell in 1876."
    shared_answer = Answered("Was it Bell the inventor?", "Bell was the inventor.", "Bell", "HUM")
    assert "Bell" in (without_topic(shared_answer, random.Random(0)) or "")


def test_sentence_that_shares_nothing_keeps_its_words() -> None:
    assert without_topic(Answered("Why?", "Bell made one.", "Bell", "HUM"), random.Random(0)) is None


@given(st.text(), st.text(), st.integers(0, 99))
def test_taking_the_topic_out_never_fails(question: str, sentence: str, seed: int) -> None:
    changed = without_topic(Answered(question, sentence, "\0", ""), random.Random(seed))
    assert changed is None or changed != sentence or len(changed) >= 2


def test_pool_draws_like_and_unlike_answers() -> None:
    pool = AnswerPool(
        [
            PHONE,
            Answered("Who?", "Gray did.", "Gray", "HUM"),
            Answered("When?", "In 1900.", "1900", "NUM"),
            Answered("What?", "A thing.", "a thing", "ENTY"),
        ]
    )
    chance = random.Random(0)
    assert {pool.like(PHONE, chance) for _ in range(20)} == {"Gray"}
    assert {pool.unlike(PHONE, chance) for _ in range(20)} == {"1900"}
    assert pool.unlike(Answered("What?", "A thing.", "a thing", "ENTY"), chance) is None
    assert pool.like(Answered("When?", "In May.", "May", "NUM"), chance) is None  # 1900 is written otherwise


@given(st.text(min_size=1), st.integers(0, 999))
def test_rewritten_question_is_never_empty(question: str, seed: int) -> None:
    assert as_users_write(question, random.Random(seed))


def test_questions_are_rewritten_in_every_way() -> None:
    asked = {as_users_write("Who made it?", random.Random(seed)) for seed in range(200)}
    assert {"Who made it?", "who made it", "Who made it", "WHO MADE IT?"} < asked
    assert len(asked) > 5  # typos
