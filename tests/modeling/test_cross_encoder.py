"""The cross-encoder in every family: padding changes nothing, saving keeps everything, every head can learn."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForSequenceClassification

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionConfig, AnswerSelectionModel, most_tokens, probabilities
from anselect.modeling.encoders import freeze_lowest, load_encoder
from anselect.modeling.heads import CELLS, HEADS
from anselect.modeling.losses import cross_entropy
from anselect.modeling.pair_tokens import encode_pairs

QUESTIONS = ["who invented the telephone", "what is it", "what"]
CANDIDATES = ["bell did", "it rings in paris in france in the city of paris", ""]
BUILDS = [(name, cell) for name in HEADS for cell in (CELLS if name == "rnn" else ["rnn"])]


def from_encoder(folder: str, **settings: Any) -> tuple[Any, Any]:
    return AnswerSelectionModel.from_encoder(folder, **settings)


def score(model: Any, tokenizer: Any, questions: list[str], candidates: list[str]) -> torch.Tensor:
    found: torch.Tensor = model.score(
        encode_pairs(tokenizer, questions, candidates, max_tokens=model.config.max_tokens)
    )
    return found


@pytest.mark.parametrize("head", ["linear", "bow", "cnn", "rnn"])
def test_batching_does_not_change_scores(family: Any, save_encoder: Any, head: str) -> None:
    model, tokenizer = from_encoder(save_encoder(family), head=head, max_tokens=40)
    together = score(model, tokenizer, QUESTIONS, CANDIDATES)
    alone = [score(model, tokenizer, [q], [c]) for q, c in zip(QUESTIONS, CANDIDATES, strict=True)]
    assert torch.allclose(together, torch.cat(alone), atol=1e-6)
    assert ((together > 0) & (together < 1)).all()


def test_saved_model_scores_the_same(family: Any, save_encoder: Any, tmp_path: Path) -> None:
    folder = save_encoder(family)
    model, tokenizer = from_encoder(folder, head="rnn", cell="gru", max_tokens=40)
    before = score(model, tokenizer, QUESTIONS, CANDIDATES)
    model.save_pretrained(tmp_path / "saved")
    for file in Path(folder).iterdir():
        file.unlink()  # the encoder's own folder is not needed again
    loaded = AnswerSelectionModel.from_pretrained(tmp_path / "saved")
    assert torch.equal(score(loaded, tokenizer, QUESTIONS, CANDIDATES), before)
    assert loaded.config.class_position == ("last" if family.name == "xlnet" else "first")
    assert (loaded.config.head, loaded.config.cell, loaded.config.max_tokens) == ("rnn", "gru", 40)


@pytest.mark.parametrize("head", sorted(HEADS))
def test_first_guess_stands_below_the_limit_and_the_whole_model_above(bert_folder: str, head: str) -> None:
    model, tokenizer = from_encoder(bert_folder, head=head, max_tokens=40)
    plain = score(model, tokenizer, QUESTIONS, CANDIDATES)
    model.add_exit(1)
    assert torch.equal(score(model, tokenizer, QUESTIONS, CANDIDATES), plain)
    model.config.exit_below = float("inf")
    guesses = score(model, tokenizer, QUESTIONS, CANDIDATES)
    assert not torch.isclose(guesses, plain).any()
    limit = guesses.sort().values[:2].mean()  # one of three lies below
    model.config.exit_below = float(torch.logit(limit))
    mixed = score(model, tokenizer, QUESTIONS, CANDIDATES)
    assert torch.allclose(mixed, torch.where(guesses < limit, guesses, plain))


def test_exit_is_saved_with_the_model(bert_folder: str, tmp_path: Path) -> None:
    model, tokenizer = from_encoder(bert_folder, head="sigmoid", max_tokens=40)
    model.add_exit(1)
    model.config.exit_below = float("inf")
    model.save_pretrained(tmp_path / "saved")
    loaded = AnswerSelectionModel.from_pretrained(tmp_path / "saved")
    assert torch.equal(score(loaded, tokenizer, QUESTIONS, CANDIDATES), score(model, tokenizer, QUESTIONS, CANDIDATES))


@pytest.mark.parametrize("layer", [0, 2])
def test_exit_stands_between_layers(bert_folder: str, layer: int) -> None:
    model, _ = from_encoder(bert_folder, max_tokens=40)
    with pytest.raises(UsageError, match="expected an exit behind one of the layers 1 to 1"):
        model.add_exit(layer)


def test_pretrained_weights_are_kept(bert_folder: str) -> None:
    torch.manual_seed(5)
    model, _ = from_encoder(bert_folder, head="fc", max_tokens=40)
    expected = load_encoder(bert_folder).state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.encoder.state_dict().items())


def test_seed_decides_the_head(bert_folder: str) -> None:
    def head_weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        weights: torch.Tensor = next(from_encoder(bert_folder, head="rnn", max_tokens=40)[0].head.parameters())
        return weights

    assert torch.equal(head_weights(1), head_weights(1))
    assert not torch.equal(head_weights(1), head_weights(2))


def test_score_is_the_softmax_of_the_second_logit(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, max_tokens=40)
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40)
    model.eval()
    logits = model(**batch.model_inputs()).logits
    assert torch.allclose(model.score(batch), torch.softmax(logits, 1)[:, 1])
    assert torch.allclose(probabilities(torch.tensor([[0.0]])), torch.tensor([0.5]))


def test_scoring_leaves_a_training_model_in_training(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, max_tokens=40)
    model.train()
    first, second = (score(model, tokenizer, QUESTIONS, CANDIDATES) for _ in range(2))
    assert torch.equal(first, second)
    assert model.training


def test_highlight_tokens_are_single_pieces_with_new_rows(family: Any, save_encoder: Any, tmp_path: Path) -> None:
    model, tokenizer = from_encoder(save_encoder(family), max_tokens=40)
    known = model.encoder.get_input_embeddings().weight.detach().clone()
    assert model.add_highlight_tokens(tokenizer, "mark") == 2
    batch = encode_pairs(tokenizer, ["who"], ["[ENTITY] did"], max_tokens=40)
    hum = tokenizer.convert_tokens_to_ids("[ENTITY]")
    assert batch.inputs["input_ids"][0][batch.candidate_mask[0]].tolist().count(hum) == 1
    grown = model.encoder.get_input_embeddings().weight
    assert torch.equal(grown[: len(known)], known)
    assert model.add_highlight_tokens(tokenizer, "mark") == 0

    before = score(model, tokenizer, ["who"], ["[ENTITY] did"])
    model.save_pretrained(tmp_path / "saved")
    loaded = AnswerSelectionModel.from_pretrained(tmp_path / "saved")
    assert torch.equal(score(loaded, tokenizer, ["who"], ["[ENTITY] did"]), before)
    assert (loaded.config.highlight, list(loaded.config.highlight_tokens)) == ("mark", ["[ENTITY]", "[/ENTITY]"])


def test_pooler_with_linear_head_is_the_librarys_classifier(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, pooling="pooler", max_tokens=40)
    theirs: Any = BertForSequenceClassification(copy.deepcopy(model.encoder.config)).eval()  # type: ignore[no-untyped-call]
    theirs.bert.load_state_dict(model.encoder.state_dict())
    theirs.classifier.load_state_dict(model.head.output.state_dict())
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40)
    with torch.inference_mode():
        assert torch.allclose(model.eval()(**batch.model_inputs()).logits, theirs(**batch.inputs).logits, atol=1e-6)


def test_mean_pooling_reads_the_tokens_that_are_not_padding(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, pooling="mean", max_tokens=40)
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40)
    with torch.inference_mode():
        hidden = model.eval().encoder(**batch.inputs).last_hidden_state
        means = [
            row[: int(mask.sum())].mean(dim=0) for row, mask in zip(hidden, batch.inputs["attention_mask"], strict=True)
        ]
        expected = model.head.output(torch.stack(means))
        assert torch.allclose(model(**batch.model_inputs()).logits, expected, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet"])
def test_rows_encoded_in_parts_give_the_same_logits_and_gradients(
    family: str, families: Any, save_encoder: Any
) -> None:
    model, tokenizer = from_encoder(save_encoder(families[family]()), head="rnn", dropout=0.0, max_tokens=40)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    model.train()
    texts = ["in London", "he", "it was invented in 1876 by Bell", "no", "the first telephone"]
    batch = encode_pairs(tokenizer, ["who"] * 5, texts, max_tokens=40)
    weights = torch.arange(10.0).view(5, 2)

    def logits_and_gradient(rows_per_pass: int) -> tuple[torch.Tensor, torch.Tensor]:
        model.rows_per_pass = rows_per_pass
        model.zero_grad()
        logits = model(**batch.model_inputs()).logits
        (logits * weights).sum().backward()
        return logits.detach(), model.encoder.get_input_embeddings().weight.grad.clone()

    whole, parts = logits_and_gradient(0), logits_and_gradient(2)
    assert torch.allclose(whole[0], parts[0], atol=1e-6)
    assert torch.allclose(whole[1], parts[1], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "mpnet"])
def test_frozen_layers_keep_their_weights(family: str, families: Any, save_encoder: Any) -> None:
    encoder = load_encoder(save_encoder(families[family]()))
    freeze_lowest(encoder, 1)
    frozen = {name for name, parameter in encoder.named_parameters() if not parameter.requires_grad}
    assert any("layer.0." in name for name in frozen)
    assert not any("layer.1." in name for name in frozen)
    assert any("embed" in name for name in frozen)
    with pytest.raises(UsageError, match="at most 2 layers to freeze, got 3"):
        freeze_lowest(encoder, 3)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet", "mpnet"])
def test_new_tokens_of_frozen_embeddings_get_a_gradient(family: str, families: Any, save_encoder: Any) -> None:
    model, tokenizer = from_encoder(save_encoder(families[family]()), max_tokens=16)
    model.add_highlight_tokens(tokenizer, "mark")
    new = [tokenizer.convert_tokens_to_ids(token) for token in ("[ENTITY]", "[/ENTITY]")]
    freeze_lowest(model.encoder, 1, new_tokens=new)
    batch = encode_pairs(tokenizer, ["who"], ["[ENTITY] bell [/ENTITY] did"], max_tokens=16)
    model(**batch.model_inputs()).logits[0, 0].backward()
    gradient = model.encoder.get_input_embeddings().weight.grad
    assert sorted(gradient.any(dim=1).nonzero().flatten().tolist()) == sorted(new)


def test_gradient_checkpointing_gives_the_same_gradients(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, max_tokens=40)
    model.eval()
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40)

    def gradient() -> torch.Tensor:
        model.zero_grad()
        model(**batch.model_inputs()).logits.sum().backward()
        found: torch.Tensor = model.encoder.get_input_embeddings().weight.grad.clone()
        return found

    plain = gradient()
    model.gradient_checkpointing_enable()
    assert model.is_gradient_checkpointing
    assert torch.allclose(gradient(), plain)


@pytest.mark.parametrize("head", ["linear", "bow"])
def test_every_trainable_weight_gets_a_gradient(family: Any, save_encoder: Any, tmp_path: Path, head: str) -> None:
    built, tokenizer = from_encoder(save_encoder(family), head=head, max_tokens=40)
    built.save_pretrained(tmp_path / "saved")
    for model in (built, AnswerSelectionModel.from_pretrained(tmp_path / "saved")):
        model(**encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40).model_inputs()).logits.sum().backward()
        assert not [name for name, weight in model.named_parameters() if weight.requires_grad and weight.grad is None]


@pytest.mark.parametrize(("head", "cell"), BUILDS)
def test_every_head_learns_twenty_questions_by_heart(bert_folder: str, head: str, cell: str) -> None:
    torch.manual_seed(0)
    model, tokenizer = from_encoder(bert_folder, head=head, cell=cell, dropout=0.0, max_tokens=40)
    words = ["who", "what", "bell", "city", "paris", "france", "1876"]
    questions = [f"{words[i % 7]} {words[i // 7]}" for i in range(20) for _ in range(3)]
    candidates = [f"{words[(i + j) % 7]} {words[(i * 3 + j * 2) % 7]}" for i in range(20) for j in range(3)]
    labels = torch.tensor([int(j == i % 3) for i in range(20) for j in range(3)])
    batch = encode_pairs(tokenizer, questions, candidates, max_tokens=40)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.eval()  # no dropout: memory is what is tested
    for _ in range(300):
        logits = model(**batch.model_inputs()).logits
        two = logits if logits.shape[1] == 2 else torch.cat([torch.zeros_like(logits), logits], dim=1)
        loss: Any = cross_entropy(two, labels, torch.ones_like(labels))
        if loss.item() < 0.05:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    best = model.score(batch).view(20, 3).argmax(dim=1)
    assert best.tolist() == [i % 3 for i in range(20)]


def test_head_that_reads_tokens_needs_masks(bert_folder: str) -> None:
    model, tokenizer = from_encoder(bert_folder, head="bow", max_tokens=40)
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=40)
    with pytest.raises(UsageError, match="needs question_mask"):
        model(**batch.inputs)


def test_limits_and_poolings_are_checked(bert_folder: str, xlnet_family: Any, save_encoder: Any) -> None:
    with pytest.raises(UsageError, match=r"max_tokens is 67: .* at most 66"):
        from_encoder(bert_folder, max_tokens=67)
    with pytest.raises(UsageError, match="unknown pooling 'max'"):
        from_encoder(bert_folder, pooling="max", max_tokens=40)
    model, tokenizer = from_encoder(save_encoder(xlnet_family), pooling="pooler", max_tokens=40)
    with pytest.raises(UsageError, match="has no pooler"):
        score(model, tokenizer, QUESTIONS, CANDIDATES)


def test_most_tokens_counts_what_positions_serve(families: Any) -> None:
    found = {name: most_tokens(families[name]().config) for name in ("bert", "roberta", "mpnet", "xlnet")}
    assert found == {"bert": 66, "roberta": 64, "mpnet": 64, "xlnet": None}


def test_config_says_one_label_for_the_sigmoid_head_and_none_for_no_highlighting() -> None:
    assert AnswerSelectionConfig(head="sigmoid").num_labels == 1
    assert AnswerSelectionConfig(head="linear").num_labels == 2
    assert AnswerSelectionConfig(highlight="none").highlight is None
