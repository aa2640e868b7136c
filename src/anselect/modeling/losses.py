"""Scores, labels and a mask come in, one number goes out: the papers' training losses and four of our own, by name.

All are means over what the mask keeps, 0 where it keeps nothing; masked entries give no gradient, whatever they hold.
Q questions × C candidates, except for the pointwise losses, which take any leading shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor
from torch.nn import functional

BERTSEL_MARGIN: Final = 0.5
"""BERTSel names a margin m but prints no value. Scores lie in (0, 1), so m must be below 1 for the hinge to rest."""


def cross_entropy(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Two-class cross-entropy (Laskar, CETE, BAS) of logits (…, 2) with labels and mask (…).

    Example: logits [[0, 0]] and label [1] → log 2 = 0.693.
    """
    kept = mask.bool()
    safe = logits.masked_fill(~kept.unsqueeze(-1), 0.0)
    each = functional.cross_entropy(
        safe.reshape(-1, safe.shape[-1]), _zeroed(labels, kept).long().reshape(-1), reduction="none"
    )
    return _mean(each.reshape(kept.shape), kept)


def cosine_mse(cosines: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Mean squared error of the cosine against the label 0 or 1 (CETE's feature-based models), any shape.

    Example: cosines [0.5, -1] and labels [1, 0] → (0.25 + 1) / 2 = 0.625.
    """
    kept = mask.bool()
    return _mean((_zeroed(cosines, kept) - _zeroed(labels, kept)) ** 2, kept)


def bertsel(
    logits: Tensor,
    labels: Tensor,
    mask: Tensor,
    *,
    entropy_weight: float = 0.5,
    hinge_weight: float = 0.5,
    margin: float = BERTSEL_MARGIN,
) -> Tensor:
    """BERTSel's λ₁ · cross-entropy + λ₂ · hinge over (positive, negative) pairs of one logit per candidate (Q, C).

    With ŷ = sigmoid(logit): -λ₁ (log ŷₚ + log(1 - ŷₙ)) + λ₂ max(0, m - ŷₚ + ŷₙ). Equation (1) of the paper lacks the
    minus before λ₁: one sum cannot both be maximised in its first part and minimised in its second. The text says
    what is meant: the log-likelihood is to grow, the hinge loss to shrink.
    Example: logits [[0, 0]], labels [[1, 0]], margin 0.5 → 0.5 · 2 log 2 + 0.5 · 0.5 = 0.943.
    """
    kept = mask.bool()
    safe, pairs = _zeroed(logits, kept), _pairs(labels, kept)
    entropy = -(functional.logsigmoid(safe).unsqueeze(2) + functional.logsigmoid(-safe).unsqueeze(1))  # (Q, C, C)
    scores = torch.sigmoid(safe)
    hinge = (margin - scores.unsqueeze(2) + scores.unsqueeze(1)).clamp(min=0.0)
    return _mean(entropy_weight * entropy + hinge_weight * hinge, pairs)


def ranknet(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """RankNet: log(1 + exp(sₙ - sₚ)) over (positive, negative) pairs within each question (Q, C).

    Example: logits [[1, 0]] and labels [[1, 0]] → log(1 + e⁻¹) = 0.313.
    """
    kept = mask.bool()
    safe = _zeroed(logits, kept)
    return _mean(functional.softplus(safe.unsqueeze(1) - safe.unsqueeze(2)), _pairs(labels, kept))


def listwise_softmax(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Cross-entropy of a softmax over each question's candidates (Q, C) with its correct ones, equally weighted.

    Questions without a positive are left out.
    Example: logits [[0, 0, 0]] and labels [[1, 0, 0]] → log 3 = 1.099.
    """
    kept = mask.bool()
    # The smallest finite number, not -inf: a row that is masked as a whole would give NaN gradients.
    safe = logits.masked_fill(~kept, torch.finfo(logits.dtype).min)
    positives = _zeroed(labels, kept).to(logits.dtype)
    count = positives.sum(dim=1)
    log_shares = torch.log_softmax(safe, dim=1).masked_fill(~kept, 0.0)
    each = -(log_shares * positives).sum(dim=1) / count.clamp(min=1.0)
    return _mean(each, count > 0)


def listwise_and_pointwise(logits: Tensor, labels: Tensor, mask: Tensor, *, entropy_weight: float = 0.5) -> Tensor:
    """(1 - λ) · listwise softmax + λ · two-class cross-entropy of one logit per candidate (Q, C).

    The list teaches the order, the single pairs what a score means: a question without a positive counts in the second
    part alone, so that a model learns to say that none of the candidates is right.
    Example: logits [[0, 0]], labels [[1, 0]] → 0.5 log 2 + 0.5 log 2 = 0.693.
    """
    kept = mask.bool()
    each = functional.binary_cross_entropy_with_logits(
        _zeroed(logits, kept), _zeroed(labels, kept).to(logits.dtype), reduction="none"
    )
    pointwise = _mean(each, kept)
    return (1.0 - entropy_weight) * listwise_softmax(logits, labels, mask) + entropy_weight * pointwise


def distillation(
    logits: Tensor,
    labels: Tensor,
    mask: Tensor,
    *,
    teacher: Tensor,
    entropy_weight: float = 0.5,
    label_weight: float = 0.3,
) -> Tensor:
    """Cross-entropy with a teacher's softmax over each list and sigmoid of each pair, labels mixed in; all (Q, C).

    w · listwise-and-pointwise with the labels + (1 - w) · the same with the teacher's shares and probabilities; λ
    weighs the pointwise part in both. Example: logits = teacher = [[0, 0]], w = 0 → 0.5 log 2 + 0.5 log 2 = 0.693.
    """
    kept = mask.bool()
    lowest = torch.finfo(logits.dtype).min
    shares = torch.softmax(teacher.masked_fill(~kept, lowest), dim=1).masked_fill(~kept, 0.0)
    log_shares = torch.log_softmax(logits.masked_fill(~kept, lowest), dim=1).masked_fill(~kept, 0.0)
    listwise = _mean(-(shares * log_shares).sum(dim=1), kept.any(dim=1))
    each = functional.binary_cross_entropy_with_logits(
        _zeroed(logits, kept), torch.sigmoid(_zeroed(teacher, kept)), reduction="none"
    )
    soft = (1.0 - entropy_weight) * listwise + entropy_weight * _mean(each, kept)
    hard = listwise_and_pointwise(logits, labels, mask, entropy_weight=entropy_weight)
    return label_weight * hard + (1.0 - label_weight) * soft


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss with what it needs from the model."""

    function: Callable[..., Tensor]
    reads: Literal["logits", "logit", "cosine"]
    """Two logits per pair; one logit per pair (`heads.one_logit` folds two into one); a cosine in [-1, 1]."""
    grouped: bool
    """Whether candidates of one question must stand in one row (Q, C), as they are compared with each other."""


LOSSES: Final[Mapping[str, Loss]] = {
    "cross-entropy": Loss(cross_entropy, "logits", grouped=False),
    "cosine-mse": Loss(cosine_mse, "cosine", grouped=False),
    "bertsel": Loss(bertsel, "logit", grouped=True),
    "ranknet": Loss(ranknet, "logit", grouped=True),
    "listwise-softmax": Loss(listwise_softmax, "logit", grouped=True),
    "listwise-and-pointwise": Loss(listwise_and_pointwise, "logit", grouped=True),
    "distillation": Loss(distillation, "logit", grouped=True),
}


def _zeroed(values: Tensor, kept: Tensor) -> Tensor:
    return values.masked_fill(~kept, 0)


def _pairs(labels: Tensor, kept: Tensor) -> Tensor:
    """Return (Q, C, C): True where the second index is a correct and the third a wrong candidate, both kept."""
    positive, negative = kept & (labels == 1), kept & (labels == 0)
    return positive.unsqueeze(2) & negative.unsqueeze(1)


def _mean(values: Tensor, kept: Tensor) -> Tensor:
    return values.masked_fill(~kept, 0.0).sum() / kept.sum().clamp(min=1)
