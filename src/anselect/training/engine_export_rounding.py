"""What activations were seen to be in, how they become 8-bit integers out: one step for all channels of a product.

One value of BERT's layer norm reaches 28 where most stay below 3. A range that holds it would leave the others few of
the 256 steps. So the range is that of the many, and a wide channel comes several times: the first part says how far the
value goes within the range, the next how far within the stretch behind it, and so on. Sums of integers are exact, so
that no row depends on its batch.

Weights are rounded one channel after the other, and what rounding one of them does to the products that were seen is
made good by those that are not rounded yet (Frantar et al. 2023, GPTQ).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

STEPS: Final = 255
LARGEST: Final = 126
"""Of a weight; what a part makes good comes on top."""
LARGEST_SUM: Final = 2**15 - 1
MOST_PARTS: Final = 16
"""So many columns may join a product: 4 % of 384."""
DAMPING: Final = 0.01
"""What is added to each channel's own product, as a share of their mean."""
BEYOND: Final = 64
"""No more stretches of a channel are looked at: a range may be next to nothing beside it."""
Floats = NDArray[np.float32]
Limits = tuple[float, float]
"""Smallest and largest activation; both sides of zero."""


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """What a product's activations were seen to be, channel by channel."""

    low: Floats
    high: Floats
    products: Floats | None = None
    """The sum over all rows seen of each channel times each other; None where nobody asked for it."""

    def range(self, but: Sequence[int] = ()) -> Limits:
        """Return the smallest and the largest value, on both sides of zero, but for those of some channels."""
        low, high = np.delete(self.low, but), np.delete(self.high, but)
        return min(0.0, float(low.min(initial=0.0))), max(0.0, float(high.max(initial=0.0)))

    def widest_first(self) -> list[int]:
        """Return the channels in falling order of their largest values.

        >>> ChannelLimits(np.array([-1, -9, 0], np.float32), np.array([1, 2, 5], np.float32)).widest_first()
        [1, 2, 0]
        """
        order: list[int] = np.argsort(-np.maximum(-self.low, self.high), kind="stable").tolist()
        return order

    def joined(self, other: ChannelLimits) -> ChannelLimits:
        """Return the limits of what both have seen."""
        known = [each.products for each in (self, other) if each.products is not None]
        products = sum(known[1:], start=known[0]) if known else None
        return ChannelLimits(np.minimum(self.low, other.low), np.maximum(self.high, other.high), products)


@dataclass(frozen=True, slots=True)
class Rounding:
    """How the activations of one product become integers from 0 to 255."""

    step: Floats
    zero: NDArray[np.uint8]
    """The integer that stands for 0."""
    channels: NDArray[np.int64]
    """The channel of each further part."""
    shifts: Floats
    """What is added to it before it is rounded: its stretch then lies in the range."""
    products: Floats | None = None
    """What channels were seen to be together (`ChannelLimits.products`); None: each weight is rounded by itself."""

    @property
    def rests(self) -> Floats:
        """What a part says where the value does not reach its stretch: the range's near end, for every row."""
        low, high = _ends(self.step.item(), self.zero.item())
        return np.where(self.shifts < 0, low, high).astype(np.float32)

    def round_weights(self, weight: Floats) -> tuple[NDArray[np.int8], Floats]:
        """Round a product's (in, out) weight; return integers of all channels and further parts, and columns' scales.

        What rounding a channel's weight took away or added, its next part makes good: errors do not add up. Where it
        is known how channels go together, the channels that are rounded later make it good.
        """
        rows = np.concatenate([weight, weight[self.channels]])
        scales = _scales(rows)
        if self.products is not None:
            whole = _compensated(weight / scales, self.products)
            return _within_16_bits(np.concatenate([whole, whole[self.channels]])), scales
        exact = rows / scales
        owed: dict[tuple[int, bool], Floats] = {}
        for place, (channel, shift) in enumerate(zip(self.channels.tolist(), self.shifts.tolist(), strict=True)):
            side, row = (channel, shift < 0), len(weight) + place
            exact[row] += owed.get(side, exact[channel] - np.rint(exact[channel]))
            owed[side] = exact[row] - np.rint(exact[row])
        return np.rint(exact).astype(np.int8), scales

    def gather(self, rounded: NDArray[np.int8]) -> Floats:
        """Return one row of weights for each channel: where there are several parts, the mean of them.

        >>> plan = plan_rounding(ChannelLimits(np.array([0, 0, 0], np.float32), np.array([1, 1, 4], np.float32)))
        >>> rounded, scales = plan.round_weights(np.array([[3.0], [-4.0], [1.01]], np.float32))
        >>> rounded.ravel().tolist(), [round(each, 2) for each in (plan.gather(rounded) * scales).ravel().tolist()]
        ([94, -126, 32, 32, 31, 32], [2.98, -4.0, 1.01])
        """
        channels = len(rounded) - len(self.channels)
        owner = np.concatenate([np.arange(channels), self.channels])
        summed = np.zeros((channels, rounded.shape[1]), dtype=np.float32)
        np.add.at(summed, owner, rounded)
        counts = np.bincount(owner).astype(np.float32)
        return (summed / counts[:, None]).astype(np.float32)


def _scales(rows: Floats) -> Floats:
    """Return the smallest scale of each column with which no sum of two neighbours' products leaves 16 bits.

    Processors without VNNI add the products of each two rows in 16 bits and cut what does not fit.
    """
    even = np.pad(rows, ((0, len(rows) % 2), (0, 0)))
    first, second = even[::2], even[1::2]
    together = np.where(first * second > 0, np.abs(first + second), 0.0)
    # Rounding may add a half to each, what parts owe each other another one.
    most = LARGEST_SUM / STEPS - 2.0
    scale = np.maximum(np.abs(rows).max(axis=0) / LARGEST, together.max(axis=0) / most)
    widened: Floats = np.maximum(scale, 1e-12).astype(np.float32)
    return widened


def _compensated(exact: Floats, products: Floats) -> Floats:
    """Round weights (in, out) to integers, widest inputs first; those behind take over what each one's rounding did."""
    together = products.astype(np.float64)
    size = len(together)
    # A channel that was never seen must not take over anything without limit.
    together += np.eye(size) * max(DAMPING * float(np.diag(together).mean()), 1e-12)
    order = np.argsort(-np.diag(together), kind="stable")
    shares = np.linalg.cholesky(np.linalg.inv(together[np.ix_(order, order)])).T
    left, rounded = exact[order].astype(np.float64), np.empty(exact.shape)
    for place in range(size):
        rounded[order[place]] = np.clip(np.rint(left[place]), -LARGEST, LARGEST)
        error = (left[place] - rounded[order[place]]) / shares[place, place]
        left[place + 1 :] -= np.outer(shares[place, place + 1 :], error)
    return rounded.astype(np.float32)


def _within_16_bits(rounded: Floats) -> NDArray[np.int8]:
    """Make the second of two neighbours smaller where their products together would leave 16 bits."""
    even = np.pad(rounded, ((0, len(rounded) % 2), (0, 0)))
    first, second = even[::2], even[1::2]
    room = np.maximum(LARGEST_SUM // STEPS - np.abs(first), 0.0)
    is_one_sign = first * second > 0
    even[1::2] = np.where(is_one_sign, np.sign(second) * np.minimum(np.abs(second), room), second)
    return even[: len(rounded)].astype(np.int8)


def even_rounding(limits: Limits) -> Rounding:
    """Give all channels the same range."""
    return _rounding(limits, {})


def plan_rounding(limits: ChannelLimits, most_parts: int = MOST_PARTS) -> Rounding:
    """Set as many of the widest channels apart as the parts allow; the range of the others is then the narrowest."""
    order = limits.widest_first()
    best = even_rounding(limits.range())
    for count in range(1, min(most_parts, len(order) - 1) + 1):
        apart = {
            channel: (float(limits.low[channel]), float(limits.high[channel])) for channel in sorted(order[:count])
        }
        plan = _rounding(limits.range(but=list(apart)), apart)
        if len(plan.channels) <= most_parts:
            best = plan
    return replace(best, products=limits.products)


def _rounding(limits: Limits, apart: Mapping[int, Limits]) -> Rounding:
    low, high = limits
    step = np.float32(max(high - low, 1e-6) / STEPS)
    zero = np.uint8(round(-low / float(step)))
    ends = _ends(float(step), int(zero))
    parts = [(channel, shift) for channel, own in apart.items() for shift in islice(_shifts(own, ends), BEYOND)]
    channels, shifts = zip(*parts, strict=True) if parts else ((), ())
    return Rounding(
        np.array(step),
        np.array(zero),
        np.array(channels, dtype=np.int64),
        np.array(shifts, dtype=np.float32),
    )


def _ends(step: float, zero: int) -> Limits:
    return -zero * step, (STEPS - zero) * step


def _shifts(own: Limits, ends: Limits) -> Iterator[float]:
    """Yield the shift of each stretch behind the range that a channel's values reach.

    >>> list(_shifts((-1.0, 8.0), (-1.0, 2.0)))
    [-3.0, -6.0]
    """
    (low, high), (lowest, highest) = own, ends
    width = highest - lowest
    above = highest
    while above < high:
        yield lowest - above
        above += width
    below = lowest
    while below > low:
        yield highest - below
        below -= width
