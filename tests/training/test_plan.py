from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anselect.config import Recipe, load_recipe
from anselect.data.reading import write_questions
from anselect.modeling import features
from anselect.training import estimate
from anselect.training.plan import plan_training
from tests.training.tiny import WORDS, learnable_questions, save_tiny_bert

SPEED = 1e6
"""Operations a second that the tests' machine is said to do: seconds come out as numbers that can be checked."""


@pytest.fixture(autouse=True)
def known_speed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(estimate, "measure_speed", lambda: SPEED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def recipe(tmp_path: Path, name: str, encoder: str, *settings: str) -> Recipe:
    for split, count in (("train", 12), ("dev", 6)):
        write_questions(learnable_questions(count), tmp_path / f"{split}.tsv")
    files = [f"data.{split}={tmp_path / split}.tsv" for split in ("train", "dev")]
    return load_recipe(name, [*files, f"model.encoder={encoder}", "model.max_tokens=32", *settings])


def save_glove(path: Path) -> str:
    random = np.random.default_rng(0)
    path.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in random.normal(size=12))}\n" for word in WORDS))
    return str(path)


def minutes(plan: dict[str, Any]) -> float:
    return float(plan["estimated_minutes"])


def test_cross_encoder_has_an_estimate_that_grows_with_its_epochs(tmp_path: Path) -> None:
    encoder = save_tiny_bert(tmp_path / "bert")
    one, three = (
        plan_training(recipe(tmp_path, "minilm-linear", encoder, f"training.epochs={epochs}")) for epochs in (1, 3)
    )
    assert 2 * minutes(one) < minutes(three) < 3 * minutes(one)
    assert (one["steps"], three["steps"]) == (one["steps_per_epoch"], 3 * one["steps_per_epoch"])
    assert "estimate" not in one


def test_frozen_layers_make_a_training_shorter(tmp_path: Path) -> None:
    encoder = save_tiny_bert(tmp_path / "bert")
    frozen, whole = (
        plan_training(recipe(tmp_path, "minilm-linear", encoder, f"training.frozen_layers={layers}"))
        for layers in (1, 0)
    )
    assert minutes(frozen) < minutes(whole)


def test_siamese_model_on_glove_has_an_estimate(tmp_path: Path) -> None:
    settings = ("model.attention_heads=3", "training.epochs=2", "training.batch_size=100")
    plan = plan_training(recipe(tmp_path, "cete-features-glove", save_glove(tmp_path / "glove.txt"), *settings))
    train, dev = learnable_questions(12), learnable_questions(6)
    # One batch holds all rows: each side as wide as its longest text.
    candidates = [candidate.text.split() for question in train for candidate in question.candidates]
    width = max(map(len, candidates)) + max(len(question.text.split()) for question in train)
    scored = sum(len(c.text.split()) + len(q.text.split()) for q in dev for c in q.candidates)
    operations = (2 * 985 + 4 * 984) * 2 * len(candidates) * width + 2 * 985 * 3 * scored
    assert plan["parameters"] == 985
    assert minutes(plan) == round(operations / (SPEED * estimate.USEFUL_SHARE) / 60, 1)


def test_features_of_an_encoder_are_counted_and_not_extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features.EncoderFeatures, "extract", lambda self, texts: pytest.fail("features were extracted"))
    encoder = save_tiny_bert(tmp_path / "bert")
    plan = plan_training(recipe(tmp_path, "cete-features-bert-base", encoder, "training.epochs=1"))
    ablation = plan_training(recipe(tmp_path, "cete-features-bert-base", encoder, "model.encoder_layers=0"))
    assert minutes(plan) > minutes(ablation) > 0
    assert plan["estimate"].startswith("features counted in")
    assert not (tmp_path / "cache" / "anselect" / "features").exists()


def test_missing_encoder_leaves_the_estimate_out(tmp_path: Path) -> None:
    plan = plan_training(recipe(tmp_path, "cete-features-glove", str(tmp_path / "nowhere.txt")))
    assert plan["estimate"].startswith("none: ")
    assert "estimated_minutes" not in plan
