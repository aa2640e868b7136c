"""Lists for training: one seed one mixture, right sentences stay right, wrong ones come from where they should."""

from __future__ import annotations

import random

import pytest

from anselect.records import Candidate, Question
from anselect.training.bundled import mixture
from anselect.training.bundled.mixture import ListPlan, Shares, sample_lists, shuffled, span_lists

NEVER = Shares(0, 0, 0, 0, 0, 0)


def passage(number: int, *, answerable: bool = True) -> Question:
    sentences = [
        Candidate("0", f"The telephone number {number} was invented by Graham{number} in Boston.", int(answerable)),
        Candidate("1", f"Telephone number {number} rings loudly in the old house.", 0),
        Candidate("2", f"Nobody knows why number {number} is green.", 0),
    ]
    if answerable:
        sentences[0] = Candidate("0", sentences[0].text, 1, {"answer": f"Graham{number}"})
    return Question(
        f"q{number}", f"Who invented telephone number {number}?", tuple(sentences), {"document_title": "Telephones"}
    )


def texts(question: Question, label: int) -> set[str]:
    return {candidate.text for candidate in question.candidates if candidate.label == label}


def test_lists_hold_the_wanted_number_of_each_kind() -> None:
    question = Question("q", "who", tuple(Candidate(str(n), f"text {n}", int(n < 3)) for n in range(20)))
    (drawn,) = sample_lists([question], ListPlan(5, positives=2, negatives=4), random.Random(0))
    assert [sorted(candidate.label or 0 for candidate in drawn.candidates)] == [[0, 0, 0, 0, 1, 1]]
    assert [candidate.id for candidate in drawn.candidates] == ["0", "1", "2", "3", "4", "5"]


def test_question_without_a_right_candidate_gives_wrong_ones_only() -> None:
    question = Question("q", "who", tuple(Candidate(str(n), f"text {n}", 0) for n in range(9)))
    (drawn,) = sample_lists([question], ListPlan(5, positives=1, negatives=4), random.Random(0))
    assert [candidate.label for candidate in drawn.candidates] == [0] * 5


def test_the_same_seed_gives_the_same_lists() -> None:
    questions = [passage(number) for number in range(12)]
    first, again, other = (span_lists(questions, ListPlan(12), random.Random(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_made_up_sentences_only_the_passages_own_are_used() -> None:
    for drawn in span_lists([passage(number) for number in range(5)], ListPlan(5), random.Random(0), NEVER):
        own = passage(int(drawn.id[1:]))
        assert texts(drawn, 1) == texts(own, 1)
        assert texts(drawn, 0) == texts(own, 0)


def test_answer_of_another_type_and_missing_answer_make_wrong_candidates() -> None:
    years = [
        Question(
            f"y{number}",
            f"In what year was tower {number} built?",
            (Candidate("0", f"It was built in 19{number:02}.", 1, {"answer": f"19{number:02}"}),),
        )
        for number in range(10, 20)
    ]
    shares = Shares(other_answer=1, no_answer=1, same_type=0, no_topic=0, odd_negative=0, elsewhere=0)
    drawn = span_lists([passage(0), *years], ListPlan(11, negatives=4), random.Random(0), shares)
    wrong = texts(next(question for question in drawn if question.id == "q0"), 0)
    assert any(text.startswith("The telephone number 0 was invented by 19") for text in wrong)
    assert "The telephone number 0 was invented in Boston." in wrong


def test_right_candidate_may_lose_the_words_that_it_shares() -> None:
    shares = Shares(other_answer=0, no_answer=0, same_type=0, no_topic=1, odd_negative=0, elsewhere=0)
    (drawn,) = span_lists([passage(3)], ListPlan(1), random.Random(0), shares)
    (right,) = texts(drawn, 1)
    assert "telephone" not in right
    assert "Graham3" in right


def test_sentence_from_elsewhere_shares_words_and_lacks_the_answer() -> None:
    shares = Shares(other_answer=0, no_answer=0, same_type=0, no_topic=0, odd_negative=0, elsewhere=1)
    drawn = span_lists([passage(number) for number in range(4)], ListPlan(4), random.Random(0), shares)
    for question in drawn:
        strangers = texts(question, 0) - texts(passage(int(question.id[1:])), 0)
        assert len(strangers) == 1
        assert f"Graham{question.id[1:]}" not in strangers.pop()


def test_unanswerable_question_has_wrong_candidates_only() -> None:
    (drawn,) = span_lists([passage(0, answerable=False)], ListPlan(1), random.Random(0))
    assert texts(drawn, 1) == set()
    assert len(texts(drawn, 0)) == 3


def test_stuffed_texts_are_wrong_and_full_stops_go_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "STUFFED", 1.0)
    monkeypatch.setattr(mixture, "WITHOUT_STOP", 1.0)
    own = passage(1)
    drawn = shuffled(own, own.candidates, random.Random(0))
    assert texts(drawn, 1) == {text.rstrip(".") for text in texts(own, 1)}
    (made,) = texts(drawn, 0) - {text.rstrip(".") for text in texts(own, 0)}
    assert set(made.split()) == set(own.text.rstrip("?").split())
    assert len(made.split()) >= 2 * len(own.text.split())
