"""Two sides that begin as strangers: each is what the encoder makes of it alone, until training lets them meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.export import export_classifier
from anselect.modeling.heads import COSINE_SCALE, USUAL_COSINE, one_logit
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.records import Candidate, Question

QUESTION = "who invented the telephone"
CANDIDATES = ["bell did", "it rings in paris in france in the city of paris"]
STRANGERS = 1000.0


def build(folder: str, lowered: float, **settings: Any) -> tuple[AnswerSelectionModel, Any]:
    known: dict[str, Any] = {"head": "match", "pooling": "mean", "max_tokens": 40} | settings
    model, tokenizer = AnswerSelectionModel.from_encoder(folder, sides_apart=lowered, **known)
    model.eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():  # tokens of a new model hardly look at each other
        for weight in model.encoder.parameters():
            weight.mul_(10 if weight.dim() == 2 else 1)
    return model, tokenizer


def alone(model: AnswerSelectionModel, tokenizer: Any, text: str) -> torch.Tensor:
    with torch.inference_mode():
        hidden: torch.Tensor = model.encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    return hidden


def sides(model: AnswerSelectionModel, tokenizer: Any) -> list[list[torch.Tensor]]:
    """Return the states of each pair's question and candidate, their special tokens included."""
    batch = encode_pairs(tokenizer, [QUESTION] * len(CANDIDATES), CANDIDATES, max_tokens=40)
    with torch.inference_mode():
        hidden = model.encode(batch.inputs)["last_hidden_state"]
    side, is_token = batch.inputs["token_type_ids"], batch.inputs["attention_mask"].bool()
    return [
        [row[own & (kind == number)] for number in (0, 1)]
        for row, own, kind in zip(hidden, is_token, side, strict=True)
    ]


def test_strangers_are_what_the_encoder_makes_of_each_alone(bert_folder: str) -> None:
    model, tokenizer = build(bert_folder, STRANGERS)
    for (question, candidate), text in zip(sides(model, tokenizer), CANDIDATES, strict=True):
        torch.testing.assert_close(question, alone(model, tokenizer, QUESTION), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(candidate, alone(model, tokenizer, text), atol=1e-5, rtol=1e-5)


def test_the_less_attention_is_lowered_the_more_sides_see(bert_folder: str) -> None:
    moved = []
    for lowered in (STRANGERS, 4.0, 1.0):
        model, tokenizer = build(bert_folder, lowered)
        own = alone(model, tokenizer, CANDIDATES[0])
        moved.append((sides(model, tokenizer)[0][1] - own).abs().max().item())
    assert moved[0] < 1e-4 < moved[1] < moved[2]


def test_ranking_begins_at_the_cosine_of_texts_read_alone(bert_folder: str) -> None:
    model, tokenizer = build(bert_folder, STRANGERS)
    means = [alone(model, tokenizer, text)[1:-1].mean(dim=0) for text in (QUESTION, *CANDIDATES)]
    batch = encode_pairs(tokenizer, [QUESTION] * 2, CANDIDATES, max_tokens=40)
    with torch.inference_mode():
        found = one_logit(model(**batch.model_inputs()).logits)
    cosines = torch.stack([torch.cosine_similarity(means[0], mean, dim=0) for mean in means[1:]])
    torch.testing.assert_close(found, COSINE_SCALE * (cosines - USUAL_COSINE), atol=1e-4, rtol=1e-4)


def test_each_head_learns_how_much_it_sees(bert_folder: str) -> None:
    model, tokenizer = build(bert_folder, 2.0)
    batch = encode_pairs(tokenizer, [QUESTION] * 2, CANDIDATES, max_tokens=40)
    one_logit(model(**batch.model_inputs()).logits).sum().backward()  # type: ignore[no-untyped-call]
    gradient = model.cross_attention.lowered.grad
    assert gradient is not None
    layers, heads = model.encoder.config.num_hidden_layers, model.encoder.config.num_attention_heads
    assert gradient.shape == (layers, heads)
    assert bool((gradient != 0).all())


def test_a_saved_model_joins_texts_and_scores_them_as_before(bert_folder: str, tmp_path: Path) -> None:
    model, tokenizer = build(bert_folder, 2.0)
    with torch.no_grad():
        model.cross_attention.lowered.uniform_(0.0, 0.1)
    ranker = CrossEncoderRanker(model, tokenizer)
    questions = [Question("q", QUESTION, tuple(Candidate(str(n), text) for n, text in enumerate(CANDIDATES)))]
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    assert again.score(questions).scores == ranker.score(questions).scores
    assert isinstance(again, CrossEncoderRanker)
    ids = encode_pairs(again.tokenizer, [QUESTION], ["bell did"], max_tokens=40).inputs["input_ids"][0]
    assert [each for each in again.tokenizer.convert_ids_to_tokens(ids.tolist()) if each.startswith("[")] == [
        "[CLS]",
        "[SEP]",
        "[CLS]",
        "[SEP]",
    ]


def test_only_bert_can_be_read_so(family: Any, save_encoder: Any) -> None:
    folder = save_encoder(family)
    both = {"question_layers": 1} if family.name == "bert" else {}
    message = "sides_apart or question_layers, got both" if both else "sides_apart is for BERT, got"
    with pytest.raises(UsageError, match=message):
        build(folder, 2.0, **both)


def test_others_cannot_read_such_a_model(bert_folder: str, tmp_path: Path) -> None:
    ranker = CrossEncoderRanker(*build(bert_folder, 2.0, head="linear"))
    with pytest.raises(UsageError, match="which others cannot do"):
        export_classifier(ranker, tmp_path / "out", samples=[(QUESTION, CANDIDATES[0])])
