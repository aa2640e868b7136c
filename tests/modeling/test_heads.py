"""Heads: sizes of the papers' arithmetic, and no leak from padding, separators or the other side."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from anselect.errors import UsageError
from anselect.modeling.heads import (
    CELLS,
    COSINE_SCALE,
    HEADS,
    USUAL_COSINE,
    BagOfWordsHead,
    ConvolutionHead,
    Head,
    HeadSettings,
    MatchHead,
    RecurrentHead,
    build_head,
    compact,
    one_logit,
)

WIDTH = 8
# Row 0: class, 2 question tokens, separator, 3 candidate tokens, separator, padding; row 1: padded on the left.
QUESTION = torch.tensor([[0, 1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]).bool()
CANDIDATE = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]]).bool()

BUILDS = [(name, cell) for name in HEADS for cell in (CELLS if name == "rnn" else ["rnn"])]


def head_and_inputs(name: str, cell: str) -> tuple[Head, Tensor, Tensor]:
    torch.manual_seed(0)
    head = build_head(name, HeadSettings(width=WIDTH, cell=cell)).eval()
    return head, torch.randn(2, 10, WIDTH), torch.randn(2, WIDTH)


def weights(module: nn.Module, kind: str) -> int:
    return sum(parameter.numel() for name, parameter in module.named_parameters() if kind in name)


@pytest.mark.parametrize(
    ("name", "classifier_weights"), [("fc", 788_480), ("bow", 2_361_344), ("cnn", 1_198_080), ("rnn", 2_361_344)]
)
def test_classifier_of_bert_base_has_the_size_that_bas_counts(name: str, classifier_weights: int) -> None:
    classifier = build_head(name, HeadSettings(width=768)).classifier
    assert isinstance(classifier, nn.Module)
    assert weights(classifier, "weight") == classifier_weights
    assert weights(classifier, "bias") == 1_026


def test_convolutions_and_recurrences_have_their_true_sizes() -> None:
    cnn, rnn = ConvolutionHead(HeadSettings(width=768)), RecurrentHead(HeadSettings(width=768))
    assert weights(cnn.question, "") + weights(cnn.candidate, "") == 922_000
    assert weights(rnn.question, "") + weights(rnn.candidate, "") == 4_724_736


def test_linear_and_sigmoid_heads_are_one_layer() -> None:
    assert weights(build_head("linear", HeadSettings(width=768)), "") == 2 * 768 + 2
    assert weights(build_head("sigmoid", HeadSettings(width=768)), "") == 768 + 1


@pytest.mark.parametrize(("name", "cell"), BUILDS)
def test_only_the_texts_own_tokens_are_seen(name: str, cell: str) -> None:
    head, hidden, vector = head_and_inputs(name, cell)
    before = head(hidden, vector, QUESTION, CANDIDATE)
    assert before.shape == (2, head.labels)
    changed = torch.where((QUESTION | CANDIDATE).unsqueeze(2), hidden, torch.full_like(hidden, torch.nan))
    assert torch.equal(head(changed, vector, QUESTION, CANDIDATE), before)


@pytest.mark.parametrize(("name", "cell"), [build for build in BUILDS if build[0] in ("bow", "cnn", "rnn", "match")])
@pytest.mark.parametrize("side", ["question", "candidate"])
def test_every_token_of_a_side_counts(name: str, cell: str, side: str) -> None:
    head, hidden, vector = head_and_inputs(name, cell)
    mask = QUESTION if side == "question" else CANDIDATE
    before = head(hidden, vector, QUESTION, CANDIDATE)
    after = head(torch.where(mask.unsqueeze(2), hidden + 1, hidden), vector, QUESTION, CANDIDATE)
    assert (before != after).any(dim=1).all()


def test_bag_of_words_sums_each_side() -> None:
    head, hidden, vector = head_and_inputs("bow", "rnn")
    assert isinstance(head, BagOfWordsHead)
    expected = head.classifier(vector[:1], hidden[:1, 1:3].sum(1), hidden[:1, 4:7].sum(1))
    assert torch.allclose(head(hidden, vector, QUESTION, CANDIDATE)[:1], expected, atol=1e-6)


def test_match_begins_at_the_cosine_of_both_sides() -> None:
    head, hidden, vector = head_and_inputs("match", "rnn")
    assert isinstance(head, MatchHead)
    nn.init.zeros_(head.output.weight)
    head.begin()
    cosines = torch.cosine_similarity(hidden[:1, 1:3].mean(1), hidden[:1, 4:7].mean(1))
    begun = one_logit(head(hidden, vector, QUESTION, CANDIDATE))[:1]
    assert torch.allclose(begun, COSINE_SCALE * (cosines - USUAL_COSINE), atol=1e-5)


def test_convolution_sees_each_side_as_if_it_stood_alone() -> None:
    head, hidden, vector = head_and_inputs("cnn", "rnn")
    assert isinstance(head, ConvolutionHead)
    question = head.question(hidden[1:, 3:4].transpose(1, 2)).amax(2)
    candidate = head.candidate(hidden[1:, 5:9].transpose(1, 2)).amax(2)
    expected = head.classifier(vector[1:], question, candidate)
    assert torch.allclose(head(hidden, vector, QUESTION, CANDIDATE)[1:], expected, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_recurrence_ends_at_the_last_token_of_each_side(cell: str) -> None:
    head, hidden, vector = head_and_inputs("rnn", cell)
    assert isinstance(head, RecurrentHead)
    question = head.question(hidden[:1, 1:3])[0][:, -1]
    candidate = head.candidate(hidden[:1, 4:7])[0][:, -1]
    expected = head.classifier(vector[:1], question, candidate)
    assert torch.allclose(head(hidden, vector, QUESTION, CANDIDATE)[:1], expected, atol=1e-6)


@pytest.mark.parametrize(("name", "cell"), BUILDS)
def test_empty_side_gives_finite_logits_and_gradients(name: str, cell: str) -> None:
    head, hidden, vector = head_and_inputs(name, cell)
    empty = torch.zeros_like(QUESTION)
    logits = head(hidden.requires_grad_(), vector.requires_grad_(), empty, empty)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in head.parameters())


def test_compact_moves_tokens_left_in_order() -> None:
    hidden = torch.arange(5.0).view(1, 5, 1)
    compacted, lengths = compact(hidden, torch.tensor([[False, True, False, True, True]]))
    assert compacted.flatten().tolist() == [1.0, 3.0, 4.0]
    assert lengths.tolist() == [3]


def test_one_logit_keeps_the_probability() -> None:
    logits = torch.tensor([[0.3, 1.7], [2.0, -1.0]], dtype=torch.float64)
    assert torch.allclose(torch.sigmoid(one_logit(logits)), torch.softmax(logits, 1)[:, 1])
    assert one_logit(torch.tensor([[0.5]])).tolist() == [0.5]


def test_dropout_acts_in_training_only() -> None:
    head, hidden, vector = head_and_inputs("fc", "rnn")
    calm = [head(hidden, vector, QUESTION, CANDIDATE) for _ in range(2)]
    assert torch.equal(calm[0], calm[1])
    head.train()
    noisy = [head(hidden, vector, QUESTION, CANDIDATE) for _ in range(2)]
    assert not torch.equal(noisy[0], noisy[1])


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown head 'mlp': choose from linear, fc"):
        build_head("mlp", HeadSettings(width=WIDTH))
    with pytest.raises(UsageError, match=r"unknown cell 'sru': choose from rnn, gru, lstm"):
        build_head("rnn", HeadSettings(width=WIDTH, cell="sru"))
