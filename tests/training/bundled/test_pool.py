"""Lists of near sentences: the nearest are always there, a right one keeps its label, the others have none."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from anselect.records import Candidate, Question
from anselect.training.bundled.mixture import ListPlan
from anselect.training.bundled.pool import Pool, near_lists

WORDS = ("clock", "lamp", "ship", "book")


def vectors(texts: Sequence[str]) -> dict[str, torch.Tensor]:
    """Count words, brought to length 1; a text of none of them stands far from all."""
    counts = {text: torch.tensor([*(float(text.count(word)) for word in WORDS), 0.1]) for text in texts}
    return {text: torch.nn.functional.normalize(count, dim=0) for text, count in counts.items()}


SENTENCES = [f"the {word} number {number} is old" for word in WORDS for number in range(12)]


def test_nearest_come_first_and_each_text_once() -> None:
    pool = Pool([*SENTENCES, *SENTENCES, "too short", "long " * 61], vectors)
    near, other = pool.nearest(["who made the lamp", "who wrote the book"])
    assert all("lamp" in text for text in near[:12])
    assert all("book" in text for text in other[:12])
    assert len(set(near)) == len(near) == 30


def test_a_right_candidate_keeps_its_label_and_near_ones_have_none() -> None:
    right = "bell made the lamp in boston"
    question = Question("q", "who made the lamp", (Candidate("0", right, 1), Candidate("1", "the ship is very old", 0)))
    pool = Pool([*SENTENCES, right], vectors)
    (made,) = near_lists([question], pool, ListPlan(3, negatives=5), random.Random(0))
    labels = {each.text: each.label for each in made.candidates}
    assert labels.pop(right) == 1
    assert len(labels) == 5
    assert set(labels.values()) == {None}
    assert sum("lamp" in text for text in labels) >= 2


def test_a_question_without_a_right_candidate_has_near_ones_alone() -> None:
    asked = Question("q", "who wrote the book", (Candidate("0", "it is a very old book", 0),))
    (made,) = near_lists([asked], Pool(SENTENCES, vectors), ListPlan(3, negatives=4), random.Random(0))
    assert [each.label for each in made.candidates] == [None] * 4
