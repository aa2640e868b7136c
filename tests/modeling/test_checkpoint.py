"""Checkpoints come back as they were, or are refused in one line; a failed save leaves the last one whole."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from anselect.errors import AnselectError, DataError, MissingFileError, UsageError
from anselect.modeling.checkpoint import (
    FORMAT_VERSION,
    MANIFEST,
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
    write_manifest,
)
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.siamese import SiameseConfig, SiameseModel, pad_features


def scores(model: Any, tokenizer: Any) -> torch.Tensor:
    batch = encode_pairs(tokenizer, ["who invented it", "what"], ["bell did", "PERSON_TOKEN in paris"], max_tokens=40)
    found: torch.Tensor = model.score(batch)
    return found


@pytest.fixture
def trained(bert_folder: str) -> tuple[AnswerSelectionModel, Any]:
    model, tokenizer = AnswerSelectionModel.from_encoder(bert_folder, head="cnn", max_tokens=40)
    model.add_highlight_tokens(tokenizer, "replace-typed")
    return model, tokenizer


@pytest.fixture
def saved(trained: tuple[AnswerSelectionModel, Any], tmp_path: Path) -> Path:
    save_checkpoint(*trained, tmp_path / "run" / "best")
    return tmp_path / "run" / "best"


def test_checkpoint_of_every_family_comes_back_as_it_was(family: Any, save_encoder: Any, tmp_path: Path) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(save_encoder(family), head="bow", max_tokens=40)
    save_checkpoint(model, tokenizer, tmp_path / "best")
    loaded = load_checkpoint(tmp_path / "best")
    assert torch.equal(scores(loaded.model, loaded.tokenizer), scores(model, tokenizer))
    assert not loaded.model.training
    assert loaded.config.head == "bow"


def test_siamese_checkpoint_has_no_tokenizer(tmp_path: Path) -> None:
    model = SiameseModel(SiameseConfig(width=16, features="glove"))
    save_checkpoint(model, None, tmp_path / "best")
    loaded = load_checkpoint(tmp_path / "best")
    batch = pad_features([torch.ones(3, 16).numpy()])
    assert isinstance(loaded.model, SiameseModel)
    assert torch.equal(loaded.model.score(batch, batch), model.score(batch, batch))
    assert loaded.tokenizer is None


def test_highlight_tokens_survive(saved: Path, trained: tuple[AnswerSelectionModel, Any]) -> None:
    loaded = load_checkpoint(saved)
    assert loaded.highlight == "replace-typed"
    assert torch.equal(scores(loaded.model, loaded.tokenizer), scores(*trained))


def test_texts_must_be_prepared_as_in_training(saved: Path) -> None:
    loaded = load_checkpoint(saved)
    loaded.require_highlight("replace-typed")
    with pytest.raises(UsageError, match="trained on highlighting 'replace-typed', got plain text"):
        loaded.require_highlight(None)
    plain = Checkpoint(loaded.model, loaded.tokenizer, SiameseConfig())
    plain.require_highlight("none")
    with pytest.raises(UsageError, match="trained on plain text, got highlighting 'mark'"):
        plain.require_highlight("mark")


def test_new_checkpoint_replaces_the_old_one(saved: Path, trained: tuple[AnswerSelectionModel, Any]) -> None:
    model, tokenizer = trained
    with torch.no_grad():
        model.head.classifier.output.bias += 1.0  # type: ignore[operator,union-attr]
    save_checkpoint(model, tokenizer, saved)
    loaded = load_checkpoint(saved)
    assert torch.equal(scores(loaded.model, loaded.tokenizer), scores(model, tokenizer))
    assert [path.name for path in saved.parent.iterdir()] == ["best"]


def test_full_disk_leaves_the_last_checkpoint_whole(saved: Path, trained: tuple[AnswerSelectionModel, Any]) -> None:
    before = scores(*trained)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # no file may grow beyond 10 kB
    try:
        with pytest.raises((OSError, AnselectError)) as caught:
            save_checkpoint(*trained, saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(caught.value)
    loaded = load_checkpoint(saved)
    assert torch.equal(scores(loaded.model, loaded.tokenizer), before)
    assert [path.name for path in saved.parent.iterdir()] == ["best"]


def test_kill_between_the_two_renames_loses_nothing(saved: Path, trained: tuple[AnswerSelectionModel, Any]) -> None:
    saved.rename(saved.with_name(".best.old"))
    assert load_checkpoint(saved).highlight == "replace-typed"
    save_checkpoint(*trained, saved)
    assert [path.name for path in saved.parent.iterdir()] == ["best"]


def test_kill_before_the_old_one_was_deleted_keeps_the_new_one(
    saved: Path, trained: tuple[AnswerSelectionModel, Any]
) -> None:
    leftover = saved.with_name(".best.old")
    leftover.mkdir()
    (leftover / "config.json").write_text("{}")
    assert load_checkpoint(saved).highlight == "replace-typed"
    save_checkpoint(*trained, saved)
    assert [path.name for path in saved.parent.iterdir()] == ["best"]
    assert load_checkpoint(saved).highlight == "replace-typed"


def flip_a_byte(folder: Path) -> None:
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


def cut_the_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def change_manifest(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / MANIFEST
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip_a_byte, "model.safetensors: expected the content of the manifest"),
        (cut_the_weights, "model.safetensors: expected the content of the manifest"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "expected tokenizer.json, it is not there"),
        (lambda folder: (folder / MANIFEST).unlink(), "expected checkpoint.json, it is not there"),
        (lambda folder: (folder / MANIFEST).write_text("{"), "expected JSON, got a damaged file"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "expected a JSON object, got list"),
        (change_manifest(files={}), "expected a list of files, it is damaged"),
        (change_manifest(format_version=99, anselect="9.0"), r"expected checkpoint version 1, got 99 \(anselect 9.0\)"),
    ],
    ids=["byte", "cut", "file", "no_manifest", "bad_json", "no_object", "no_files", "version"],
)
def test_damaged_checkpoint_is_refused_in_one_line(saved: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(saved)
    with pytest.raises(DataError, match=message) as caught:
        load_checkpoint(saved)
    assert "\n" not in str(caught.value)


def test_folder_of_another_kind_of_model_is_refused(tmp_path: Path, bert_folder: str) -> None:
    folder = Path(bert_folder)
    write_manifest(folder)
    with pytest.raises(DataError, match="expected model_type anselect-cross-encoder or anselect-siamese, got 'bert'"):
        load_checkpoint(folder)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such checkpoint folder"):
        load_checkpoint(tmp_path / "nothing")


def test_manifest_names_every_file(saved: Path) -> None:
    manifest = json.loads((saved / MANIFEST).read_text())
    assert manifest["format_version"] == FORMAT_VERSION
    assert set(manifest["files"]) == {path.name for path in saved.iterdir()} - {MANIFEST}
