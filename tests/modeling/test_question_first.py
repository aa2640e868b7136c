"""Lower layers in which a question does not see its candidate: its states are the same beside any candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.export import export_classifier
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker

QUESTION = "who invented the telephone"
CANDIDATES = ["bell did", "it rings in paris in france in the city of paris"]


def states(model: Any, tokenizer: Any, candidates: list[str]) -> Any:
    batch = encode_pairs(tokenizer, [QUESTION] * len(candidates), candidates, max_tokens=40)
    with torch.inference_mode():
        return model.encode(batch.inputs)["hidden_states"]


def test_question_is_the_same_beside_every_candidate_until_it_sees_them(bert_folder: str) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(bert_folder, question_layers=1, max_tokens=40)
    model.eval()  # type: ignore[no-untyped-call]
    side = len(tokenizer.tokenize(QUESTION)) + 2  # class token and separator
    embedded, lower, upper = (layer[:, :side] for layer in states(model, tokenizer, CANDIDATES))
    for layer in (embedded, lower):
        assert torch.allclose(layer[0], layer[1], atol=1e-6)
    assert not torch.allclose(upper[0], upper[1], atol=1e-5)


def test_candidate_sees_its_question_from_the_first_layer_on(bert_folder: str) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(bert_folder, question_layers=2, max_tokens=40)
    model.eval()  # type: ignore[no-untyped-call]
    found = []
    for question in (QUESTION, "who invented the clock of"):  # of the same length
        batch = encode_pairs(tokenizer, [question], ["bell did"], max_tokens=40)
        with torch.inference_mode():
            found.append(model.encode(batch.inputs)["hidden_states"][1][:, -3:])
    assert found[0].shape == found[1].shape
    assert not torch.allclose(found[0], found[1], atol=1e-6)


def test_without_such_layers_the_encoder_s_own_code_runs(bert_folder: str) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(bert_folder, max_tokens=40)
    model.eval()  # type: ignore[no-untyped-call]
    batch = encode_pairs(tokenizer, [QUESTION] * 2, CANDIDATES, max_tokens=40)
    with torch.inference_mode():
        own = model.encode(batch.inputs)["last_hidden_state"]
        model.config.question_layers = 1
        ours = model.encode(batch.inputs)["last_hidden_state"]
    assert own.shape == ours.shape
    assert not torch.allclose(own, ours, atol=1e-6)


def test_only_bert_and_no_more_layers_than_it_has(family: Any, save_encoder: Any) -> None:
    folder = save_encoder(family)
    layers, message = (3, "expected 0 to 2 question_layers") if family.name == "bert" else (1, "question_layers is for")
    with pytest.raises(UsageError, match=message):
        AnswerSelectionModel.from_encoder(folder, question_layers=layers, max_tokens=40)


def test_others_cannot_read_such_a_model(bert_folder: str, tmp_path: Path) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(bert_folder, question_layers=1, max_tokens=40)
    with pytest.raises(UsageError, match="which others cannot do"):
        export_classifier(CrossEncoderRanker(model, tokenizer), tmp_path / "out", samples=[(QUESTION, CANDIDATES[0])])
