"""Losses against numbers computed by hand, finite-difference gradients and poisoned masked entries."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from anselect.modeling.losses import (
    LOSSES,
    bertsel,
    cosine_mse,
    cross_entropy,
    distillation,
    listwise_and_pointwise,
    listwise_softmax,
    ranknet,
)


def tensor(*rows: object) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


ALL = torch.tensor([[True, True, True]])


def test_cross_entropy_known_value() -> None:
    # -log(e² / (1 + e²)) = 0.126928 for the correct one, -log(1 / (1 + e)) = 1.313262 for the wrong one.
    loss = cross_entropy(tensor([0, 2], [0, 1]), torch.tensor([1, 0]), torch.tensor([True, True]))
    assert float(loss) == pytest.approx((0.126928011 + 1.313261688) / 2)


def test_cross_entropy_takes_grouped_logits() -> None:
    logits = tensor([[0, 2], [0, 1]])
    grouped = cross_entropy(logits, torch.tensor([[1, 0]]), torch.tensor([[True, True]]))
    assert float(grouped) == pytest.approx((0.126928011 + 1.313261688) / 2)


def test_cosine_mse_known_value() -> None:
    loss = cosine_mse(tensor(0.5, -1.0, 0.25), torch.tensor([1, 0, 1]), torch.tensor([True, True, False]))
    assert float(loss) == pytest.approx((0.25 + 1.0) / 2)


def test_bertsel_known_value_of_one_triple() -> None:
    # ŷₚ = sigmoid(1) = 0.7310586, ŷₙ = sigmoid(0) = 0.5: 0.5 (0.3132617 + 0.6931472) + 0.5 (0.5 - 0.7310586 + 0.5)
    loss = bertsel(tensor([1.0, 0.0]), torch.tensor([[1, 0]]), torch.tensor([[True, True]]), margin=0.5)
    assert float(loss) == pytest.approx(0.5 * 1.0064089 + 0.5 * 0.2689414)


def test_bertsel_hinge_rests_beyond_the_margin() -> None:
    loss = bertsel(
        tensor([5.0, -5.0]), torch.tensor([[1, 0]]), torch.tensor([[True, True]]), entropy_weight=0.0, margin=0.5
    )
    assert float(loss) == 0.0


def test_bertsel_falls_as_the_positive_rises() -> None:
    labels, mask = torch.tensor([[1, 0]]), torch.tensor([[True, True]])
    losses = [float(bertsel(tensor([logit, 0.0]), labels, mask)) for logit in (-2.0, 0.0, 2.0)]
    assert losses == sorted(losses, reverse=True)


def test_ranknet_known_value_over_two_pairs() -> None:
    # Pairs (1 over 0) and (1 over 3): log(1 + e^-1) and log(1 + e^2).
    loss = ranknet(tensor([1.0, 0.0, 3.0]), torch.tensor([[1, 0, 0]]), ALL)
    assert float(loss) == pytest.approx((math.log1p(math.exp(-1)) + math.log1p(math.exp(2))) / 2)


def test_listwise_softmax_known_value_of_two_positives() -> None:
    # softmax of (log 2, 0, 0) is (1/2, 1/4, 1/4): -(log 1/2 + log 1/4) / 2
    loss = listwise_softmax(tensor([math.log(2), 0.0, 0.0]), torch.tensor([[1, 1, 0]]), ALL)
    assert float(loss) == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_listwise_and_pointwise_known_value() -> None:
    # List: log(1 + e⁻¹) = 0.3132617; pairs: (0.3132617 + 0.6931472) / 2; a quarter of the second.
    loss = listwise_and_pointwise(
        tensor([1.0, 0.0]), torch.tensor([[1, 0]]), torch.tensor([[True, True]]), entropy_weight=0.25
    )
    assert float(loss) == pytest.approx(0.75 * 0.3132617 + 0.25 * 0.5032044)


def test_listwise_and_pointwise_learns_from_a_question_without_a_positive() -> None:
    logits = tensor([0.0, 0.0, 7.0])
    loss = listwise_and_pointwise(logits, torch.tensor([[0, 0, 1]]), torch.tensor([[True, True, False]]))
    assert float(loss) == pytest.approx(0.5 * math.log(2))


def test_listwise_softmax_leaves_out_questions_without_a_positive() -> None:
    logits, labels = tensor([1.0, 2.0], [0.0, 0.0]), torch.tensor([[0, 0], [1, 0]])
    assert float(listwise_softmax(logits, labels, torch.ones(2, 2))) == pytest.approx(math.log(2))


def test_distillation_known_value() -> None:
    # Teacher (log 3, 0): shares (3/4, 1/4), chances (3/4, 1/2). Student (0, 0): every logarithm is log 2.
    both, label = torch.tensor([[True, True]]), torch.tensor([[1, 0]])
    loss = distillation(tensor([0.0, 0.0]), label, both, teacher=tensor([math.log(3), 0.0]), label_weight=0.0)
    assert float(loss) == pytest.approx(math.log(2))
    # Student (1, 0): list log(1 + e) - 3/4; pairs (log(1 + e) - 3/4 + log 2) / 2.
    loss = distillation(tensor([1.0, 0.0]), label, both, teacher=tensor([math.log(3), 0.0]), label_weight=0.0)
    assert float(loss) == pytest.approx(0.5 * (1.3132617 - 0.75) + 0.25 * (1.3132617 - 0.75 + 0.6931472))


def test_distillation_with_labels_alone_is_listwise_and_pointwise() -> None:
    values, teacher = values_for("distillation"), tensor([9.0, 1.0, 0.0], [3.0, -4.0, 0.0])
    with_labels = distillation(values, LABELS, MASK, teacher=teacher, label_weight=1.0)
    assert with_labels.item() == pytest.approx(listwise_and_pointwise(values, LABELS, MASK).item())


def values_for(name: str, *, poison: float = 0.0) -> Tensor:
    """Two questions of three candidates, the last of each masked and filled with `poison`."""
    generator = torch.Generator().manual_seed(1)
    shape = (2, 3, 2) if LOSSES[name].reads == "logits" else (2, 3)
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    values[:, 2] = poison
    return values.requires_grad_()


LABELS = torch.tensor([[1, 0, 1], [0, 1, 0]])
MASK = torch.tensor([[True, True, False], [True, True, False]])


def loss_of(name: str, values: Tensor, labels: Tensor, mask: Tensor, *, poison: float = 0.0) -> Tensor:
    """Apply a loss; one that has a teacher gets the same one each time, its masked entries poisoned."""
    teacher = tensor([2.0, -1.0, poison], [0.5, 0.0, poison])[:, : values.shape[1]]
    return LOSSES[name].function(values, labels, mask, **({"teacher": teacher} if name == "distillation" else {}))


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_equals_finite_differences(name: str) -> None:
    assert torch.autograd.gradcheck(lambda values: loss_of(name, values, LABELS, MASK), values_for(name))


@pytest.mark.parametrize("poison", [1e4, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", LOSSES)
def test_masked_entries_change_neither_loss_nor_gradient(name: str, poison: float) -> None:
    clean, poisoned = values_for(name), values_for(name, poison=poison)
    labels = torch.tensor([[1, 0, -100], [0, 1, -100]])
    losses = [loss_of(name, clean, LABELS, MASK), loss_of(name, poisoned, labels, MASK, poison=poison)]
    assert torch.equal(losses[0], losses[1])
    gradients = [torch.autograd.grad(loss, values)[0] for loss, values in zip(losses, (clean, poisoned), strict=True)]
    assert torch.equal(gradients[0], gradients[1])
    assert not gradients[1][:, 2].any()


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_kept_costs_nothing(name: str) -> None:
    values = values_for(name)
    loss = loss_of(name, values, LABELS, torch.zeros_like(MASK))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0.0
    assert values.grad is not None
    assert not values.grad.any()


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.grouped])
def test_padding_candidates_does_not_change_grouped_losses(name: str) -> None:
    narrow = loss_of(name, values_for(name)[:, :2], LABELS[:, :2], MASK[:, :2])
    assert loss_of(name, values_for(name), LABELS, MASK).item() == pytest.approx(narrow.item())
