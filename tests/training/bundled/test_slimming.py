"""Inner neurons taken out: what others can say is not missed, and what is gone stays gone and is not shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import write_questions
from anselect.engine.ranker import load_engine
from anselect.errors import UsageError
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.training.bundled import slimming
from anselect.training.bundled.logits import as_logits
from anselect.training.bundled.measure import scorer
from anselect.training.bundled.slimming import slim
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source
from anselect.training.engine_import import load_start, read_engine_model
from anselect.training.train import train
from tests.training.bundled.test_mean_model import save_model
from tests.training.test_train import tiny_recipe
from tests.training.tiny import learnable_questions

LISTS = learnable_questions(30)


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slimming, "AT_A_TIME", 4)
    monkeypatch.setattr("anselect.modeling.precision.fast_precision", lambda: "fp32")


def load(folder: Path) -> CrossEncoderRanker:
    ranker = load_start(str(save_model(folder, 1, pooling="mean")))
    assert isinstance(ranker, CrossEncoderRanker)
    return ranker


def layers(ranker: Any) -> list[Any]:
    return list(ranker.model.encoder.encoder.layer)


def alive(ranker: Any) -> list[list[int]]:
    """Return the neurons of each layer that say anything, and check that the others are gone on both sides."""
    found = []
    for layer in layers(ranker):
        inner, outer = layer.intermediate.dense, layer.output.dense
        read = outer.weight.abs().amax(dim=0) > 0
        assert not inner.weight[~read].any()
        assert not inner.bias[~read].any()
        found.append(torch.nonzero(read).flatten().tolist())
    return found


def said(ranker: Any) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return as_logits([score for own in scorer(ranker)(LISTS) for score in own])


def test_neurons_that_say_what_others_say_are_not_missed(tmp_path: Path) -> None:
    ranker = load(tmp_path)
    for layer in layers(ranker):
        inner = layer.intermediate.dense
        with torch.no_grad():
            inner.weight[32:], inner.bias[32:] = inner.weight[:32].clone(), inner.bias[:32].clone()
    before = said(ranker)
    assert slim(ranker, LISTS, 0.5) == [32, 32]
    assert [{neuron % 32 for neuron in own} for own in alive(ranker)] == [set(range(32))] * 2
    assert np.abs(said(ranker) - before).max() < 0.01 * before.std()


def test_others_stand_in_for_what_is_gone(tmp_path: Path) -> None:
    ranker, plain = load(tmp_path / "a"), load(tmp_path / "b")
    before = said(ranker)
    slim(ranker, LISTS, 0.5)
    for layer, kept in zip(layers(plain), alive(ranker), strict=True):
        gone = [neuron for neuron in range(64) if neuron not in kept]
        with torch.no_grad():
            layer.output.dense.weight[:, gone] = 0.0
    assert np.abs(said(ranker) - before).mean() < 0.5 * np.abs(said(plain) - before).mean()


def test_a_layer_that_says_little_loses_more(tmp_path: Path) -> None:
    ranker = load(tmp_path)
    with torch.no_grad():
        layers(ranker)[0].output.dense.weight *= 0.01
    first, second = slim(ranker, LISTS, 0.375)
    assert first == 16  # a quarter stays
    assert second == 64


@pytest.mark.parametrize("share", [0.0, -1.0, 0.76, float("nan")])
def test_share_that_leaves_too_little_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(UsageError, match="expected a share of more than 0 and at most"):
        slim(load(tmp_path), LISTS, share)


def test_what_is_gone_stays_gone_in_training_and_is_not_exported(tmp_path: Path) -> None:
    ranker = load(tmp_path)
    kept = slim(ranker, LISTS, 0.375)
    dead = alive(ranker)
    ranker.save(tmp_path / "slim" / "model")
    for seed, split in enumerate(("train", "dev", "test")):
        write_questions(learnable_questions(20, seed=seed), tmp_path / f"{split}.jsonl")
    recipe = tiny_recipe(tmp_path, start=str(tmp_path / "slim"), epochs=2)
    train(recipe, tmp_path / "run")
    trained = load_ranker(tmp_path / "run" / "model")
    assert alive(trained) == dead
    assert any(
        not torch.equal(*pair) for pair in zip(*(map(_inner, layers(each)) for each in (ranker, trained)), strict=True)
    )

    source = load_source(tmp_path / "run")
    network: Any = source.network.model
    assert [layer.output.dense.in_features for layer in network.encoder.encoder.layer] == kept
    data = Calibration("tiny", LISTS, LISTS, PROTOCOLS["answerable"])
    for precision, near in (("fp32", 1e-4), ("int8", 0.1)):
        engine = tmp_path / precision
        export_engine(source, engine, calibration=data, max_drift=1.0, precision=precision)
        assert np.abs(said(load_engine(engine)) - said(trained)).max() < near * max(1.0, said(trained).std())
    read = read_engine_model(tmp_path / "int8")
    assert [len(own) for own in alive(read)] == kept
    assert layers(read)[0].output.dense.in_features == max(kept)
    assert np.abs(said(read) - said(load_engine(tmp_path / "int8"))).max() < 0.1 * max(1.0, said(read).std())


def _inner(layer: Any) -> torch.Tensor:
    weight: torch.Tensor = layer.intermediate.dense.weight
    return weight
