"""Accumulation, gradient checkpointing and precision change how a training computes, not what it computes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

import anselect
from anselect.config import Recipe, check_recipe
from anselect.data.reading import write_questions
from anselect.errors import UsageError
from anselect.training.train import train
from tests.modeling.conftest import mpnet
from tests.training.tiny import learnable_questions, save_tiny_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_bert(folder / "bert", dropout=0.0)
    for split, seed in (("train", 0), ("dev", 1)):
        write_questions(learnable_questions(12, seed=seed), folder / f"{split}.jsonl")
    return folder


def recipe(folder: Path, encoder: str = "bert", kind: str = "cross-encoder", **training: object) -> Recipe:
    """A recipe without dropout, in which nothing is left to chance but the head's first weights."""
    loss = "cosine-mse" if kind == "siamese" else "cross-entropy"
    values = {
        "name": "tiny",
        "data": {split: str(folder / f"{split}.jsonl") for split in ("train", "dev")},
        "model": {"encoder": str(folder / encoder), "kind": kind, "max_tokens": 32, "dropout": 0.0},
        "training": {"epochs": 2, "batch_size": 6, "learning_rate": 1e-3, "loss": loss, **training},
    }
    return check_recipe(values, source="test")


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, torch.Tensor]:
    """The weights of a training in one pass a step, in fp32."""
    train(recipe(folder), folder / "plain")
    return last_weights(folder / "plain")


def last_weights(run: Path) -> dict[str, torch.Tensor]:
    """The weights after the last step, whichever epoch was the best."""
    (path,) = (run / "checkpoints").glob("checkpoint-*/model.safetensors")
    return load_file(path)


def largest_difference(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> float:
    assert left.keys() == right.keys()
    return max((left[name] - right[name]).abs().max().item() for name in left)


def test_two_halves_of_a_batch_train_to_the_weights_of_the_whole(
    folder: Path, tmp_path: Path, plain: dict[str, torch.Tensor]
) -> None:
    train(recipe(folder, accumulation_steps=2), tmp_path / "run")
    assert largest_difference(last_weights(tmp_path / "run"), plain) < 1e-5


class SeesCheckpointing(TrainerCallback):
    """Remembers whether the encoder's layers throw their activations away."""

    active: bool | None = None

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        self.active = others["model"].encoder.is_gradient_checkpointing


def test_gradient_checkpointing_trains_to_the_same_weights(
    folder: Path, tmp_path: Path, plain: dict[str, torch.Tensor]
) -> None:
    seen = SeesCheckpointing()
    train(recipe(folder, gradient_checkpointing=True), tmp_path / "run", callbacks=[seen])
    assert seen.active
    assert largest_difference(last_weights(tmp_path / "run"), plain) < 1e-6


@pytest.mark.parametrize("kind", ["siamese", "cross-encoder"])
def test_model_without_gradient_checkpointing_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    family = mpnet()
    torch.manual_seed(0)
    AutoModel.from_config(family.config).save_pretrained(folder / "mpnet")  # type: ignore[no-untyped-call]
    family.tokenizer.save_pretrained(folder / "mpnet")
    name = {"siamese": "SiameseModel", "cross-encoder": "MPNetModel"}[kind]
    with pytest.raises(UsageError, match=f"{name} has no gradient checkpointing: set training.gradient_checkpointing"):
        train(recipe(folder, "mpnet", kind, gradient_checkpointing=True), tmp_path / "run")
    # What never began to train does not stand in the way of the recipe that was mended.
    metrics = train(recipe(folder, "mpnet", kind, epochs=1), tmp_path / "run")
    assert metrics["trained"]["epoch"] == 1


def test_bf16_trains_on_the_cpu_and_keeps_fp32_weights(
    folder: Path, tmp_path: Path, plain: dict[str, torch.Tensor]
) -> None:
    train(recipe(folder, precision="bf16"), tmp_path / "run")
    entries = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in entries if "loss" in entry]
    assert losses
    assert all(math.isfinite(loss) for loss in losses)
    weights = last_weights(tmp_path / "run")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    # Eight bits of mantissa: near the fp32 weights, and not the same, for then bf16 was never used.
    assert 0 < largest_difference(weights, plain) < 0.1
    ranking = anselect.load(tmp_path / "run").rank("who made the lamp", ["the lamp is rome", "bell made the lamp"])
    assert all(0 < place.score < 1 for place in ranking)


@pytest.mark.skipif(torch.cuda.is_available(), reason="fp16 works where there is a GPU")
def test_fp16_without_a_gpu_is_refused_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"training.precision fp16 needs a GPU, there is none: set it to bf16 or fp32"):
        train(recipe(folder, precision="fp16"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
