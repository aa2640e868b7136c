"""An engine folder read back: the same scores but for rounding, trained on like any run, refused where it cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anselect
from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import write_questions
from anselect.engine.folder import BUNDLED
from anselect.engine.ranker import load_engine
from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Candidate, Question
from anselect.training.engine_export import SAMPLES, Calibration, export_engine
from anselect.training.engine_export_source import load_source
from anselect.training.engine_import import read_engine_model
from anselect.training.train import train
from tests.training.test_train import tiny_recipe
from tests.training.tiny import add_exit, learnable_questions, save_tiny_bert

QUESTIONS = learnable_questions(20)


def export(folder: Path, head: str, *, precision: str = "int8", leaving: bool = False) -> Path:
    bert = save_tiny_bert(folder / "bert")
    model, tokenizer = AnswerSelectionModel.from_encoder(bert, head=head, pooling="mean", max_tokens=32)
    ranker = CrossEncoderRanker(model, tokenizer)
    if leaving:
        add_exit(ranker, QUESTIONS)
    ranker.save(folder / "run" / "model")
    data = Calibration("tiny", QUESTIONS, QUESTIONS, PROTOCOLS["answerable"])
    export_engine(load_source(folder / "run"), folder / "out", calibration=data, max_drift=1.0, precision=precision)
    return folder / "out"


def logits(ranker: Any) -> Any:
    scores = np.concatenate([np.asarray(own) for own in ranker.score(QUESTIONS).scores])
    return np.log(scores / (1 - scores))


@pytest.mark.parametrize("head", ["sigmoid", "linear", "match"])
def test_scores_are_the_engine_s_but_for_rounding(tmp_path: Path, head: str) -> None:
    engine = export(tmp_path, head)
    expected, found = logits(load_engine(engine)), logits(read_engine_model(engine))
    assert np.abs(found - expected).max() < 0.05 * (1 + np.abs(expected).max())
    assert np.corrcoef(found, expected)[0, 1] > 0.95


def test_the_bundled_model_is_read_back() -> None:
    ranker, engine = read_engine_model(BUNDLED), load_engine(BUNDLED)
    questions = [Question(str(place), asked, (Candidate("0", text),)) for place, (asked, text) in enumerate(SAMPLES)]
    scores = np.array([own[0] for own in ranker.score(questions).scores])
    assert np.abs(np.log(scores / (1 - scores)) - engine.logits(SAMPLES)).max() < 0.5


def test_training_goes_on_from_an_engine_folder(tmp_path: Path) -> None:
    engine = export(tmp_path, "sigmoid")
    for seed, split in enumerate(("train", "dev", "test")):
        write_questions(learnable_questions(20, seed=seed), tmp_path / f"{split}.jsonl")
    metrics = train(tiny_recipe(tmp_path, start=str(engine), loss="ranknet", epochs=6), tmp_path / "trained")
    assert metrics["dev"]["answerable"]["MAP"] > 0.9
    best = anselect.load(tmp_path / "trained").rank("who made the lamp", ["a red lamp", "bell made the lamp"])[0]
    assert best.text == "bell made the lamp"


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an engine in 8 bits to go on from, got fp32"):
        read_engine_model(export(tmp_path / "a", "sigmoid", precision="fp32"))
    with pytest.raises(UsageError, match="candidates leave this engine early"):
        read_engine_model(export(tmp_path / "b", "sigmoid", leaving=True))
