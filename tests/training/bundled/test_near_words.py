"""Near words come from the vectors, are no forms of the word, and leave the answer alone."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from anselect.training.bundled.augment import Answered, echo, in_other_words
from anselect.training.bundled.near_words import NearWords
from tests.training.tiny import WORDS, save_tiny_bert

VOCABULARY = ["telephone", "telephones", "phone", "river", "invented", "devised"]
VECTORS = np.array([[5, 0, 0], [5, 0.1, 0], [4, 1, 0], [0, 0, 5], [-4, 4, 0], [-4, 5, 0]], dtype=np.float32)
NEAR = NearWords(VOCABULARY, VECTORS)


def test_near_words_are_other_words_in_the_same_case() -> None:
    drawn = {NEAR.draw("telephone", random.Random(seed)) for seed in range(20)}
    assert drawn == {"phone"}  # telephones is a form of it, river is far away
    assert NEAR.draw("Invented", random.Random(0)) == "Devised"


@pytest.mark.parametrize("word", ["river", "unknown"])
def test_word_without_near_ones_has_none(word: str) -> None:
    assert NEAR.draw(word, random.Random(0)) is None


def test_shared_words_give_way_and_the_answer_stays() -> None:
    item = Answered("Who invented the telephone?", "Telephone Smith invented the telephone.", "Telephone Smith", "HUM")
    texts = {in_other_words(item, NEAR, random.Random(seed)) for seed in range(40)}
    assert "Telephone Smith devised the phone." in texts
    assert all(text.startswith("Telephone Smith ") for text in texts)


def test_words_come_from_an_encoder(tmp_path: Path) -> None:
    near = NearWords.from_encoder(save_tiny_bert(tmp_path))
    found = {near.draw(word, random.Random(0)) for word in WORDS}
    assert found - {None} <= {word for word in WORDS if len(word) >= 4}


def test_echo_says_the_question_again() -> None:
    assert all("who made it" in echo("Who made it?", random.Random(seed)) for seed in range(20))
    assert len({echo("Who made it?", random.Random(seed)) for seed in range(50)}) > 3
