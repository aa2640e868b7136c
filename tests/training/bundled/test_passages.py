"""Lists of passages: the question's own is right, others of its document are wrong; some documents are held out."""

from __future__ import annotations

import random

from anselect.records import Candidate, Question
from anselect.training.bundled.mixture import ListPlan
from anselect.training.bundled.passages import is_held_out, passage_lists


def asked(number: int, title: str = "") -> Question:
    sentences = (Candidate("0", f"Clock {number} is red", 0), Candidate("1", f"Bell{number} made it", 1))
    return Question(f"q{number}", f"Who made clock {number}?", sentences, {"document_title": title} if title else {})


def test_own_passage_is_right_and_wrong_ones_are_of_the_same_document() -> None:
    questions = [asked(number, "Clocks" if number < 6 else "Lamps") for number in range(12)]
    lists = passage_lists(questions, ListPlan(12, negatives=3), random.Random(0))
    assert len(lists) == 12
    for drawn in lists:
        number = int(drawn.id[1:])
        right = [candidate.text for candidate in drawn.candidates if candidate.label == 1]
        assert right == [f"Clock {number} is red Bell{number} made it"]
        own = range(6) if number < 6 else range(6, 12)
        others = {f"Clock {other} is red Bell{other} made it" for other in own if other != number}
        wrong = [candidate.text for candidate in drawn.candidates if candidate.label == 0]
        assert len(wrong) == 3
        assert set(wrong) <= others


def test_without_documents_all_passages_are_one() -> None:
    lists = passage_lists([asked(number) for number in range(5)], ListPlan(2, negatives=4), random.Random(1))
    assert [sum(candidate.label == 0 for candidate in drawn.candidates) for drawn in lists] == [4, 4]


def test_a_passage_alone_makes_no_list() -> None:
    assert passage_lists([asked(1, "Clocks")], ListPlan(5), random.Random(0)) == []


def test_only_named_documents_are_held_out_and_always_the_same() -> None:
    assert not is_held_out(asked(1))
    assert [is_held_out(asked(1, title)) for title in ("Books", "Lamps", "Stars")] == [False, True, True]
