"""A trained model in, the same model out with a first guess behind a lower layer that is good from its first step.

A new layer cannot be learnt in few steps at a low rate; least squares from what the lower layer knows to what the whole
model says give it a start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from anselect.errors import UsageError
from anselect.modeling.heads import LinearHead
from anselect.modeling.rankers import CrossEncoderRanker, TrainedRanker
from anselect.records import Question

RIDGE: Final = 1e-3
"""How much large weights cost, as a share of the inputs' spread."""


def start_exit(ranker: TrainedRanker, layer: int, questions: Sequence[Question]) -> None:
    """Add an exit behind a layer, fitted on the pairs of the questions; the model must have a linear head."""
    if not isinstance(ranker, CrossEncoderRanker) or not isinstance(ranker.model.head, LinearHead):
        raise UsageError(f"expected a cross-encoder with a linear or sigmoid head, got '{ranker.model.config.head}'")
    model = ranker.model
    model.add_exit(layer)
    seen: list[Tensor] = []
    wanted: list[Tensor] = []
    exit_head: Any = model.exit_head
    hooks = [
        exit_head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[1])),
        model.head.register_forward_hook(lambda _, __, logits: wanted.append(logits)),
    ]
    try:
        ranker.score(questions)
    finally:
        for hook in hooks:
            hook.remove()
    weight, bias = fit_linear(torch.cat(seen), torch.cat(wanted))
    with torch.no_grad():
        exit_head.output.weight.copy_(weight)
        exit_head.output.bias.copy_(bias)


def fit_linear(inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return weight (outputs, inputs) and bias of the least squares from rows of inputs to rows of outputs.

    >>> weight, bias = fit_linear(torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[1.0], [3.0], [5.0]]))
    >>> [round(float(number), 1) for number in (weight[0, 0], bias[0])]
    [2.0, 1.0]
    """
    rows, targets = inputs.double(), outputs.double()
    middle, aim = rows.mean(dim=0), targets.mean(dim=0)
    rows, targets = rows - middle, targets - aim
    spread = rows.T @ rows
    spread += RIDGE * spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype)
    weight = torch.linalg.solve(spread, rows.T @ targets).T
    return weight.float(), (aim - weight @ middle).float()
