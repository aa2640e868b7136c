"""The limit of an exit: as many pairs as possible leave early, and no figure falls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anselect.modeling.rankers import load_ranker
from anselect.training.bundled.exit import _highest, _Seen, choose_exit
from anselect.training.bundled.measure import NamedSet
from tests.training.bundled.test_mean_model import SETS, save_model
from tests.training.tiny import learnable_questions

QUESTIONS = learnable_questions(10)
LABELS = [candidate.label for question in QUESTIONS for candidate in question.candidates]
WRONG = LABELS.count(0)


def seen(right_guess: float) -> _Seen:
    """A model that is right in the end, and at first gives every right candidate so much and wrong ones a half."""
    whole = [[0.9 if candidate.label else 0.3 for candidate in question.candidates] for question in QUESTIONS]
    guesses = [[right_guess if candidate.label else 0.5 for candidate in question.candidates] for question in QUESTIONS]
    return _Seen(NamedSet("tiny", QUESTIONS), whole, guesses)


def test_guesses_that_put_right_candidates_last_let_none_leave() -> None:
    assert _highest([seen(0.1)])["below"] is None


def test_guesses_that_are_right_let_nearly_all_leave() -> None:
    found = _highest([seen(0.9)])
    assert found["share"] == pytest.approx(WRONG / len(LABELS))
    assert found["below"] > 0.0


def test_limit_is_kept_with_the_model_and_not_chosen_again(tmp_path: Path) -> None:
    folder = choose_exit(save_model(tmp_path / "a", 1, exit_layer=1), SETS, tmp_path / "final")
    record = json.loads((folder / "exit.json").read_text())
    config = load_ranker(folder / "model").model.config
    assert config.exit_below == record["below"]
    assert record["tried"][0]["share"] == 0.0
    (tmp_path / "a" / "model" / "config.json").unlink()
    assert choose_exit(tmp_path / "a", SETS, folder) == folder


def test_model_without_exit_stays_as_it_is(tmp_path: Path) -> None:
    folder = choose_exit(save_model(tmp_path / "a", 1), SETS, tmp_path / "final")
    assert load_ranker(folder / "model").model.config.exit_below is None
