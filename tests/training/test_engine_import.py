"""An engine folder read back: the same scores but for rounding, trained on like any run, refused where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anselect
from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import write_questions
from anselect.engine.folder import BUNDLED
from anselect.engine.ranker import load_engine
from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.records import Candidate, Question
from anselect.training.engine_export import SAMPLES, Calibration, export_engine
from anselect.training.engine_export_source import load_source
from anselect.training.engine_import import read_engine_model
from anselect.training.train import train
from tests.training.test_train import tiny_recipe
from tests.training.tiny import add_exit, learnable_questions, save_tiny_bert

QUESTIONS = learnable_questions(20)


def export(
    folder: Path, head: str, *, precision: str = "int8", leaving: bool = False, once: int = 0, apart: float = 0.0
) -> Path:
    bert = save_tiny_bert(folder / "bert")
    settings: dict[str, Any] = {"head": head, "pooling": "mean", "max_tokens": 32, "question_layers": once}
    settings["sides_apart"] = apart
    model, tokenizer = AnswerSelectionModel.from_encoder(bert, **settings)
    ranker = CrossEncoderRanker(model, tokenizer)
    if apart:
        with torch.no_grad():
            model.cross_attention.lowered.uniform_(-0.1, 0.1)
    if leaving:
        add_exit(ranker, QUESTIONS)
    ranker.save(folder / "run" / "model")
    data = Calibration("tiny", QUESTIONS, QUESTIONS, PROTOCOLS["answerable"])
    export_engine(load_source(folder / "run"), folder / "out", calibration=data, max_drift=1.0, precision=precision)
    return folder / "out"


def logits(ranker: Any) -> Any:
    scores = np.concatenate([np.asarray(own) for own in ranker.score(QUESTIONS).scores])
    return np.log(scores / (1 - scores))


@pytest.mark.parametrize(
    ("head", "leaving", "once"),
    [
        ("sigmoid", False, 0),
        ("linear", False, 0),
        ("match", False, 0),
        ("sigmoid", True, 0),
        ("match", True, 0),
        ("sigmoid", False, 1),
        ("linear", True, 1),
    ],
)
def test_scores_are_the_engine_s_but_for_rounding(tmp_path: Path, head: str, leaving: bool, once: int) -> None:
    engine = export(tmp_path, head, leaving=leaving, once=once)
    read = read_engine_model(engine).model.config
    assert (read.exit_layer, read.question_layers, read.exit_below is not None) == (int(leaving), once, leaving)
    expected, found = logits(load_engine(engine)), logits(read_engine_model(engine))
    assert np.abs(found - expected).max() < 0.05 * (1 + np.abs(expected).max())
    assert np.corrcoef(found, expected)[0, 1] > 0.95


def test_the_bundled_model_is_read_back() -> None:
    ranker, engine = read_engine_model(BUNDLED), load_engine(BUNDLED)
    questions = [Question(str(place), asked, (Candidate("0", text),)) for place, (asked, text) in enumerate(SAMPLES)]
    scores = np.array([own[0] for own in ranker.score(questions).scores])
    assert np.abs(np.log(scores / (1 - scores)) - engine.logits(SAMPLES)).max() < 0.5


@pytest.mark.parametrize("leaving", [False, True])
def test_sides_that_began_apart_are_read_back_as_they_are(tmp_path: Path, leaving: bool) -> None:
    engine = export(tmp_path, "match", leaving=leaving, apart=2.0)
    read = read_engine_model(engine)
    trained = load_ranker(tmp_path / "run" / "model").model
    assert isinstance(trained, AnswerSelectionModel)
    assert np.allclose(read.model.cross_attention.values(), trained.cross_attention.values(), atol=1e-6)
    expected, found = logits(load_engine(engine)), logits(read)
    assert np.abs(found - expected).max() < 0.05 * (1 + np.abs(expected).max())
    read.save(tmp_path / "again" / "model")
    assert np.allclose(logits(load_ranker(tmp_path / "again" / "model")), found, atol=1e-5)


@pytest.mark.parametrize("kind", [{}, {"leaving": True, "once": 1}, {"apart": 2.0}])
def test_training_goes_on_from_an_engine_folder(tmp_path: Path, kind: dict[str, Any]) -> None:
    engine = export(tmp_path, "sigmoid", **kind)
    for seed, split in enumerate(("train", "dev", "test")):
        write_questions(learnable_questions(20, seed=seed), tmp_path / f"{split}.jsonl")
    metrics = train(tiny_recipe(tmp_path, start=str(engine), loss="ranknet", epochs=6), tmp_path / "trained")
    assert metrics["dev"]["answerable"]["MAP"] > 0.9
    config = json.loads((tmp_path / "trained" / "model" / "config.json").read_text())
    assert (config["question_layers"], config["exit_layer"], config["exit_below"]) == (kind.get("once", 0), 0, None)
    best = anselect.load(tmp_path / "trained").rank("who made the lamp", ["a red lamp", "bell made the lamp"])[0]
    assert best.text == "bell made the lamp"


def test_engine_in_32_bits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an engine in 8 bits to go on from, got fp32"):
        read_engine_model(export(tmp_path, "sigmoid", precision="fp32"))
