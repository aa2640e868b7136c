"""Labels by question come in; the units that a loss sees (pairs, triples, lists) and their batches go out. Pure numpy.

A *unit* is a tuple of row numbers of one question: one row for pointwise losses, (positive, negative) for pairwise,
several rows for listwise ones. What is drawn depends on seed and epoch alone: an interrupted training goes on as
if it had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Unit = tuple[int, ...]
Labels = Sequence[int]

MAX_LIST = 16
"""Rows of one question in a listwise unit; of longer lists the positives and a sample of negatives."""
POOL_BATCHES = 32
"""Units are shuffled, then sorted by length within pools of so many batches: little padding, order still random."""


@dataclass(frozen=True, slots=True)
class Units:
    """What one epoch trains on."""

    units: list[Unit]
    left_out: int
    """Questions without a positive or without a negative, which pairs and lists cannot use."""


def draw_units(
    groups: Sequence[Sequence[int]], labels: Labels, *, loss: str, negatives: int, seed: Sequence[int]
) -> Units:
    """Draw the units of one epoch; `groups` holds the row numbers of each question, `seed` is (seed, epoch)."""
    if loss in {"bertsel", "ranknet"}:
        return _pairwise(groups, labels, negatives, np.random.default_rng([*seed, 1]))
    if loss in {"listwise-softmax", "listwise-and-pointwise", "distillation"}:
        random = np.random.default_rng([*seed, 1])
        return _listwise(groups, labels, random, needs_both=loss == "listwise-softmax")
    return Units([(row,) for group in groups for row in group], left_out=0)


def make_batches(
    units: Sequence[Unit],
    lengths: npt.NDArray[np.int64],
    *,
    batch_size: int,
    group_by_length: bool,
    seed: Sequence[int],
) -> list[list[Unit]]:
    """Shuffle units into batches; `group_by_length` puts like lengths together. The last batch may be smaller."""
    random = np.random.default_rng([*seed, 2])
    order = random.permutation(len(units))
    if group_by_length:
        longest = np.array([max(lengths[row] for row in unit) for unit in units])
        pool = batch_size * POOL_BATCHES
        pools = [order[start : start + pool] for start in range(0, len(order), pool)]
        order = np.concatenate([part[np.argsort(-longest[part], kind="stable")] for part in pools]) if pools else order
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    if group_by_length and len(batches) > 1:
        # The short last batch stays last: the learning rate's schedule expects full batches before it.
        last = [batches.pop()] if len(batches[-1]) < batch_size else []
        batches = [batches[place] for place in random.permutation(len(batches))] + last
    return [[units[place] for place in batch] for batch in batches]


def padded_share(batches: Sequence[Sequence[Unit]], lengths: npt.NDArray[np.int64]) -> float:
    """Return which share of the tokens that batches hold is padding."""
    rows = [np.array([lengths[row] for unit in batch for row in unit]) for batch in batches]
    room = sum(int(batch.max()) * len(batch) for batch in rows)
    return 1.0 - sum(int(batch.sum()) for batch in rows) / room if room else 0.0


def _split(group: Sequence[int], labels: Labels) -> tuple[list[int], list[int]]:
    return [row for row in group if labels[row] == 1], [row for row in group if labels[row] != 1]


def _pairwise(groups: Sequence[Sequence[int]], labels: Labels, negatives: int, random: np.random.Generator) -> Units:
    units: list[Unit] = []
    left_out = 0
    for group in groups:
        right, wrong = _split(group, labels)
        left_out += not right or not wrong
        if not wrong:
            continue
        for positive in right:
            drawn = wrong if not negatives else [wrong[place] for place in _draw(len(wrong), negatives, random)]
            units += [(positive, negative) for negative in drawn]
    return Units(units, left_out)


def _listwise(
    groups: Sequence[Sequence[int]], labels: Labels, random: np.random.Generator, *, needs_both: bool
) -> Units:
    units: list[Unit] = []
    left_out = 0
    for group in groups:
        right, wrong = _split(group, labels)
        if needs_both and not (right and wrong):
            left_out += 1
            continue
        right = right[: MAX_LIST - 1]
        room = min(len(wrong), MAX_LIST - len(right))
        units.append((*right, *(wrong[place] for place in sorted(_draw(len(wrong), room, random)))))
    return Units(units, left_out)


def _draw(size: int, wanted: int, random: np.random.Generator) -> list[int]:
    """Draw without replacement; where more are wanted than there are, every one is taken once."""
    return [int(place) for place in random.permutation(size)[:wanted]]
