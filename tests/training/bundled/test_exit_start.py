"""The beginning of an exit: it guesses what the whole model says, and the model itself stays as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anselect.data.reading import write_questions
from anselect.errors import UsageError
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.training.bundled.exit_start import start_exit
from anselect.training.bundled.logits import as_logits
from anselect.training.train import train
from tests.training.test_train import tiny_recipe
from tests.training.tiny import learnable_questions, save_tiny_bert

QUESTIONS = learnable_questions(30, seed=3)


def trained(folder: Path, head: str) -> CrossEncoderRanker:
    save_tiny_bert(folder / "bert")
    for seed, split in enumerate(("train", "dev", "test")):
        write_questions(learnable_questions(20, seed=seed), folder / f"{split}.jsonl")
    train(tiny_recipe(folder, head=head, pooling="mean", epochs=4), folder / "run")
    ranker = load_ranker(folder / "run" / "model")
    assert isinstance(ranker, CrossEncoderRanker)
    return ranker


def logits(ranker: CrossEncoderRanker) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return as_logits([score for own in ranker.score(QUESTIONS).scores for score in own])


@pytest.mark.parametrize("head", ["linear", "sigmoid"])
def test_guesses_follow_the_whole_model_from_the_start(tmp_path: Path, head: str) -> None:
    ranker = trained(tmp_path, head)
    before = logits(ranker)
    start_exit(ranker, 1, QUESTIONS)
    assert logits(ranker) == pytest.approx(before)  # nobody leaves yet
    ranker.model.config.exit_below = float("inf")
    guesses = logits(ranker)
    assert not np.allclose(guesses, before)
    assert np.corrcoef(guesses, before)[0, 1] > 0.8
    assert guesses.mean() == pytest.approx(before.mean(), abs=0.05)


def test_other_heads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'match'"):
        start_exit(trained(tmp_path, "match"), 1, QUESTIONS)
