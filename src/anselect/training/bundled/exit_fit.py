"""A trained model and lists in, its first guess out as near to its last word as a linear layer gets: least squares.

A guess that is learnt beside the score follows a model that still moves, and counts little in its loss. Fitted behind
the finished model, it knows better who is hopeless (docs/LOG.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor, nn

from anselect.modeling.heads import one_logit
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Question

RIDGE: Final = 300.0
"""What keeps weights small, as a number of pairs: inputs are standardised."""
SURE: Final = 7.0
"""Logits beyond it mean the same."""
LEAST_SPREAD: Final = 1e-6


def fit_exit(ranker: CrossEncoderRanker, lists: Sequence[Question]) -> None:
    """Give a model's first guess the weights with which it best foretells the logits of some lists' candidates."""
    model: Any = ranker.model
    last: nn.Linear = model.exit_head.output
    with _seen(model) as (inputs, beside, whole), fast_products():
        ranker.score(lists)
    wanted = torch.cat(whole).clamp(-SURE, SURE) - torch.cat(beside)
    weight, bias = least_squares(torch.cat(inputs).double(), wanted.double())
    folded = torch.cat([weight, bias.reshape(1)])
    # Two logits share what they say: their difference counts.
    rows = torch.stack([-folded / 2, folded / 2]) if len(last.bias) == 2 else folded.reshape(1, -1)
    with torch.no_grad():
        last.weight.copy_(rows[:, :-1])
        last.bias.copy_(rows[:, -1])


def least_squares(inputs: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weight (D) and the bias of the best linear guess at `wanted` (N) from inputs (N, D)."""
    mean, spread = inputs.mean(dim=0), inputs.std(dim=0).clamp(min=LEAST_SPREAD)
    level = wanted.mean()
    even = (inputs - mean) / spread
    squares = even.T @ even + RIDGE * torch.eye(even.shape[1], dtype=even.dtype)
    weight = torch.linalg.solve(squares, even.T @ (wanted - level)) / spread
    return weight, level - mean @ weight


@contextmanager
def _seen(model: Any) -> Iterator[tuple[list[Tensor], list[Tensor], list[Tensor]]]:  # noqa: ANN401 - a network
    """Collect what the guess's last layer reads, what is added to its word, and the whole model's logits."""
    inputs: list[Tensor] = []
    beside: list[Tensor] = []
    whole: list[Tensor] = []
    own: list[Tensor] = []

    def look(_: nn.Module, given: tuple[Tensor, ...], said: Tensor) -> None:
        inputs.append(given[0].float())
        own.append(one_logit(said).float())

    hooks = [
        model.exit_head.output.register_forward_hook(look),
        model.exit_head.register_forward_hook(lambda _, __, said: beside.append(one_logit(said).float() - own[-1])),
        model.head.register_forward_hook(lambda _, __, said: whole.append(one_logit(said).float())),
    ]
    try:
        yield inputs, beside, whole
    finally:
        for hook in hooks:
            hook.remove()
