"""A trained BERT in, the same model without the inner neurons that others can stand in for out.

A neuron that goes is set to zero on both of its sides. There it stays through any further training, for no gradient
reaches it, and the export leaves it out (`engine_export_source.py`). What it told its layer is told by those that stay,
as nearly as calibration texts allow: after each removal the weights behind them are solved for anew (Hassibi and Stork
1993, optimal brain surgeon, for whole columns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anselect.errors import UsageError
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Question

AT_A_TIME: Final = 64
"""Products are fastest with such widths."""
LEAST_SHARE: Final = 0.25
"""Of its neurons each layer keeps at least so many."""
DAMPING: Final = 1e-4

Doubles = NDArray[np.float64]


def slim(ranker: CrossEncoderRanker, questions: Sequence[Question], share: float) -> list[int]:
    """Take out, in place, a share of a model's inner neurons, those that the rankings of some questions need least.

    Return how many each layer keeps.
    """
    if not 0.0 < share <= 1.0 - LEAST_SHARE:
        raise UsageError(f"expected a share of more than 0 and at most {1.0 - LEAST_SHARE}, got {share}")
    bert: Any = ranker.model.encoder
    layers = [_Inner(layer) for layer in bert.encoder.layer]
    with _watched(layers), fast_products():
        ranker.score(questions)
    removals = [layer.removals() for layer in layers]
    wanted = round(share * sum(layer.width for layer in layers) / AT_A_TIME)
    counts = _least_lost([each.lost for each in removals], wanted)
    for layer, removal, count in zip(layers, removals, counts, strict=True):
        layer.remove(removal.order[: count * AT_A_TIME])
    return [layer.width - count * AT_A_TIME for layer, count in zip(layers, counts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Removals:
    """What a layer can do without."""

    order: list[int]
    """Its neurons, the least needed first."""
    lost: list[float]
    """What each further `AT_A_TIME` of them cost: a share of the variance of what the layer gives on."""


@dataclass
class _Inner:
    """A layer's inner neurons, and what they were seen to say."""

    layer: Any
    moments: Tensor = field(default_factory=lambda: torch.zeros(()))
    """Sums of products of what they say with each other, a constant 1 behind them."""
    sums: Tensor = field(default_factory=lambda: torch.zeros(()))
    """Sums and sums of squares of what the layer's last norm reads."""
    tokens: int = 0

    @property
    def width(self) -> int:
        """How many there are."""
        return int(self.layer.output.dense.in_features)

    def see_neurons(self, _: object, given: tuple[Tensor, ...]) -> None:
        """Add up what a product with them reads."""
        rows = given[0].detach().reshape(-1, self.width).float()
        rows = torch.cat([rows, torch.ones(len(rows), 1)], dim=1)
        self.moments, self.tokens = self.moments + (rows.T @ rows).double(), self.tokens + len(rows)

    def see_sum(self, _: object, given: tuple[Tensor, ...]) -> None:
        """Add up what the norm reads."""
        rows = given[0].detach().flatten(end_dim=-2).double()
        self.sums = self.sums + torch.stack([rows.sum(dim=0), (rows * rows).sum(dim=0)])

    def removals(self) -> _Removals:
        """Find out in which order neurons go, as far as they may."""
        mean, square = (self.sums / self.tokens).numpy()
        surgeon = self._surgeon()
        most = int(self.width * (1.0 - LEAST_SHARE)) // AT_A_TIME * AT_A_TIME
        gone = [surgeon.remove_least() for _ in range(most)]
        lost = np.array([error for _, error in gone]).reshape(-1, AT_A_TIME).sum(axis=1)
        return _Removals([neuron for neuron, _ in gone], (lost / (square - mean**2).sum()).tolist())

    def remove(self, neurons: Sequence[int]) -> None:
        """Set neurons to zero on both sides; the others take over what they can."""
        surgeon = self._surgeon()
        for neuron in neurons:
            surgeon.remove(neuron)
        inner, outer = self.layer.intermediate.dense, self.layer.output.dense
        with torch.no_grad():
            outer.weight.copy_(torch.tensor(surgeon.weight[:-1].T))
            outer.bias.copy_(torch.tensor(surgeon.weight[-1]))
            inner.weight[list(neurons)] = 0.0
            inner.bias[list(neurons)] = 0.0

    def _surgeon(self) -> _Surgeon:
        outer = self.layer.output.dense
        weight, bias = outer.weight.detach().double().numpy(), outer.bias.detach().double().numpy()
        return _Surgeon(np.concatenate([weight.T, bias[None]]), self.moments.numpy() / self.tokens)


class _Surgeon:
    """Takes rows out of a product's (in, out) weight; the last one, the bias, always stays."""

    def __init__(self, weight: Doubles, moments: Doubles) -> None:
        self.weight = weight
        damped = moments + np.eye(len(moments)) * DAMPING * np.trace(moments) / len(moments)
        self._inverse: Doubles = np.linalg.inv(damped)
        self._stays = np.ones(len(weight), dtype=np.bool_)

    def remove_least(self) -> tuple[int, float]:
        """Remove the row without which the product changes least; return it, and the change's mean square."""
        errors = np.where(self._stays, (self.weight**2).sum(axis=1) / np.diag(self._inverse), np.inf)
        row = int(errors[:-1].argmin())
        self.remove(row)
        return row, float(errors[row])

    def remove(self, row: int) -> None:
        """Set a row to zero; the others take over what they can of what it said."""
        shares = self._inverse[:, row] / self._inverse[row, row]
        self.weight -= np.outer(shares, self.weight[row])
        self._inverse -= np.outer(shares, self._inverse[row])
        self._stays[row] = False
        # Nothing that is gone is changed again, by rounding either.
        self.weight[row] = self._inverse[row] = self._inverse[:, row] = 0.0
        self._inverse[row, row] = 1.0


@contextmanager
def _watched(layers: Sequence[_Inner]) -> Iterator[None]:
    hooks = [each.layer.output.dense.register_forward_pre_hook(each.see_neurons) for each in layers]
    hooks += [each.layer.output.LayerNorm.register_forward_pre_hook(each.see_sum) for each in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _least_lost(lost: Sequence[Sequence[float]], wanted: int) -> list[int]:
    """Return how many steps to take of each sequence, `wanted` in all, the cheapest next one first.

    >>> _least_lost([[1.0, 4.0], [2.0, 3.0, 9.0]], 3)
    [1, 2]
    """
    counts = [0] * len(lost)
    for _ in range(wanted):
        nexts = [each[count] if count < len(each) else np.inf for each, count in zip(lost, counts, strict=True)]
        counts[int(np.argmin(nexts))] += 1
    return counts
