"""Token evidence: gradients add up, unread words weigh nothing, a word that decides is found, offsets hold."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from anselect.errors import UsageError
from anselect.modeling import evidence as evidence_module
from anselect.modeling.checkpoint import save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.evidence import TOLERANCE, find_evidence
from anselect.modeling.explained_model import load_explained_model
from anselect.modeling.heads import HEADS
from anselect.modeling.losses import cross_entropy
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Entity
from anselect.text.explain_evidence import Method
from anselect.text.explain_texts import ReadText, plain_text
from anselect.text.highlight import Way, highlight
from tests.training.tiny import WORDS, save_tiny_bert

QUESTION = "who made the lamp"


@pytest.fixture(scope="module")
def bell_lover(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderRanker:
    """A tiny cross-encoder that was trained to find every candidate with "bell" in it correct."""
    name = save_tiny_bert(tmp_path_factory.mktemp("bert"), dropout=0.0)
    torch.manual_seed(0)
    model, tokenizer = AnswerSelectionModel.from_encoder(name, pooling="mean", dropout=0.0, max_tokens=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    chance = random.Random(0)
    others = [word for word in WORDS if word != "bell"]
    for _ in range(60):
        texts = [" ".join(chance.choices(others, k=chance.randint(2, 7))) for _ in range(16)]
        labels = [number % 2 for number in range(16)]
        texts = [f"{text} bell the" if label else text for text, label in zip(texts, labels, strict=True)]
        batch = encode_pairs(tokenizer, [QUESTION] * 16, texts, max_tokens=16)
        loss: Any = cross_entropy(model(**batch.model_inputs()).logits, torch.tensor(labels), torch.ones(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()  # type: ignore[no-untyped-call]
    return CrossEncoderRanker(model, tokenizer)


def explained(ranker: CrossEncoderRanker, *candidates: str, method: str) -> Any:
    return find_evidence(ranker, plain_text(QUESTION), [plain_text(text) for text in candidates], method=method)


@pytest.mark.parametrize("method", list(Method))
def test_word_that_decides_is_the_strongest_evidence(bell_lover: CrossEncoderRanker, method: Method) -> None:
    (found,) = explained(bell_lover, "The old Bell is red", method=method)
    best = max(found.words, key=lambda word: word.value)
    assert (best.text, best.start, best.end) == ("Bell", 8, 12)
    assert found.strongest(1) == [best]
    assert best.value > 3 * max(abs(word.value) for word in found.words if word != best)
    assert found.logit > found.masked_logit


@pytest.mark.parametrize("method", list(Method))
def test_logit_is_the_one_behind_the_score(bell_lover: CrossEncoderRanker, method: Method) -> None:
    (found,) = explained(bell_lover, "bell made the lamp", method=method)
    batch = encode_pairs(bell_lover.tokenizer, [QUESTION], ["bell made the lamp"], max_tokens=16)
    score = bell_lover.model.score(batch)
    assert torch.sigmoid(torch.tensor(found.logit)).item() == pytest.approx(score.item(), abs=1e-6)


def test_integrated_gradients_add_up_to_the_logit_difference(bell_lover: CrossEncoderRanker) -> None:
    for found in explained(bell_lover, "bell made it", "a red book", "rome", method="integrated-gradients"):
        explained_part = found.logit - found.masked_logit
        total = sum(word.value for word in found.words)
        assert total == pytest.approx(explained_part + found.gap, abs=1e-9)
        assert abs(found.gap) <= TOLERANCE * max(1.0, abs(explained_part))


def test_gap_is_reported_where_too_few_steps_are_allowed(
    bell_lover: CrossEncoderRanker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_module, "FIRST_STEPS", 1)
    monkeypatch.setattr(evidence_module, "TOLERANCE", 1e-4)
    (exact,) = explained(bell_lover, "bell made it", method="integrated-gradients")
    monkeypatch.setattr(evidence_module, "MOST_STEPS", 1)
    (rough,) = explained(bell_lover, "bell made it", method="integrated-gradients")
    assert (rough.steps, exact.steps > 1) == (1, True)
    assert abs(rough.gap) > abs(exact.gap)


@pytest.mark.parametrize("head", list(HEADS))
def test_gradients_add_up_under_every_head(tmp_path: Path, head: str) -> None:
    torch.manual_seed(1)
    ranker = CrossEncoderRanker(*AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path), head=head, max_tokens=32))
    ranker.model.train()
    (found,) = explained(ranker, "bell made the old lamp", method="integrated-gradients")
    assert abs(found.gap) <= TOLERANCE
    assert ranker.model.training  # left as it was, and no dropout meanwhile
    assert explained(ranker, "bell made the old lamp", method="integrated-gradients") == [found]


def test_gradients_add_up_in_every_family(family: Any, save_encoder: Any) -> None:
    torch.manual_seed(1)
    ranker = CrossEncoderRanker(*AnswerSelectionModel.from_encoder(save_encoder(family), max_tokens=60))
    for method in Method:
        (found,) = explained(ranker, "bell did it, in paris", method=method)
        assert "".join(word.text for word in found.words) == "belldidit,inparis"
        assert abs(found.gap or 0.0) <= TOLERANCE
        assert any(word.value for word in found.words)


@pytest.mark.parametrize("method", list(Method))
def test_word_behind_the_limit_weighs_exactly_nothing(bell_lover: CrossEncoderRanker, method: Method) -> None:
    (found,) = explained(bell_lover, "the lamp is old " * 3 + "bell", method=method)
    read = [word for word in found.words if word.is_read]
    assert (len(found.words), len(read)) == (13, 16 - 3 - 4)
    assert [word.value for word in found.words[len(read) :]] == [0.0] * 4
    (short,) = explained(bell_lover, " ".join(word.text for word in read), method=method)
    assert [word.value for word in short.words] == [word.value for word in read]


def test_occluded_value_is_the_loss_of_logit(bell_lover: CrossEncoderRanker) -> None:
    (found,) = explained(bell_lover, "bell made it", method="occlusion")
    batch = encode_pairs(bell_lover.tokenizer, [QUESTION], ["bell made it"], max_tokens=16)
    first = int(batch.candidate_mask[0].nonzero()[0])
    batch.inputs["input_ids"][0, first] = bell_lover.tokenizer.mask_token_id
    without = torch.logit(bell_lover.model.score(batch).double()).item()
    assert found.words[0].value == pytest.approx(found.logit - without, abs=1e-3)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("text", ["", "  \n "])
def test_candidate_without_words_has_no_evidence(bell_lover: CrossEncoderRanker, method: Method, text: str) -> None:
    (found,) = explained(bell_lover, text, method=method)
    assert found.words == ()
    assert found.logit == pytest.approx(found.masked_logit, abs=1e-6)


@pytest.mark.parametrize("way", list(Way))
@pytest.mark.parametrize("method", list(Method))
def test_highlighted_words_lead_back_to_the_user_s_text(tmp_path: Path, way: Way, method: Method) -> None:
    torch.manual_seed(0)
    model, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path), max_tokens=32)
    model.add_highlight_tokens(tokenizer, way)
    text = "Made in Rome, old Bell is"
    read = highlight(text, [Entity("old Bell", "PERSON", 14, 22)], "HUM", way)
    ranker = CrossEncoderRanker(model, tokenizer)
    (found,) = find_evidence(ranker, plain_text(QUESTION), [ReadText(read.text, read)], method=method)
    assert found.text == text
    assert all(text[word.start : word.end] == word.text and word.value for word in found.words)
    entity = ["old", "Bell"] if way is Way.MARK else ["old Bell"]
    assert [word.text for word in found.words] == ["Made", "in", "Rome", ",", *entity, "is"]


def test_unknown_method_is_named(bell_lover: CrossEncoderRanker) -> None:
    with pytest.raises(UsageError, match="unknown method 'guess': choose from occlusion, integrated-gradients"):
        explained(bell_lover, "bell", method="guess")


def test_loaded_model_explains_as_it_scores(bell_lover: CrossEncoderRanker, tmp_path: Path) -> None:
    save_checkpoint(bell_lover.model, bell_lover.tokenizer, tmp_path / "model")
    model = load_explained_model(tmp_path)
    (found,) = model.evidence(QUESTION, ["the bell"], "occlusion")
    assert (found,) == tuple(explained(bell_lover, "the bell", method="occlusion"))
    (similarity,) = model.similarities(QUESTION, ["the bell"])
    assert (similarity.question, similarity.candidate) == (tuple(QUESTION.split()), ("the", "bell"))


def test_model_that_others_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a model that anselect trained"):
        load_explained_model(save_tiny_bert(tmp_path))
