"""How activations and weights become 8-bit integers: wide channels in parts, sums that fit 16 bits, small errors."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from anselect.training.engine_export_rounding import (
    LARGEST,
    LARGEST_SUM,
    MOST_PARTS,
    STEPS,
    ChannelLimits,
    Floats,
    Rounding,
    even_rounding,
    plan_rounding,
)

WIDE = {3: 28.0, 10: -17.0, 11: 9.0}
CHANNELS = 48
ROWS = 200


def activations(seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).normal(0.0, 0.8, (ROWS, CHANNELS))
    for channel, most in WIDE.items():
        values[:, channel] = np.linspace(0.0, most, ROWS)
    return values.astype(np.float32)


def limits_of(values: Floats) -> ChannelLimits:
    return ChannelLimits(values.min(axis=0), values.max(axis=0))


def rounded_inputs(plan: Rounding, values: Floats) -> Floats:
    """Do what QuantizeLinear, Gather and Concat do, and give back what the integers stand for."""
    parts = np.concatenate([values, values[:, plan.channels] + plan.shifts], axis=1)
    integers = np.clip(np.rint(parts / plan.step) + plan.zero, 0, STEPS)
    return ((integers - plan.zero) * plan.step).astype(np.float32)


def product(plan: Rounding, values: Floats, weight: Floats) -> Floats:
    rounded, scales = plan.round_weights(weight)
    less = plan.rests @ rounded[len(weight) :] * scales
    result: Floats = rounded_inputs(plan, values) @ (rounded * scales) - less
    return result


def weights(seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 0.05, (CHANNELS, 20)).astype(np.float32)


def test_the_range_is_that_of_the_many() -> None:
    values = activations()
    plan = plan_rounding(limits_of(values))
    assert set(WIDE) <= set(plan.channels.tolist())
    assert len(plan.channels) <= MOST_PARTS
    assert float(plan.step) * STEPS < 6.5
    assert float(even_rounding((-17.0, 28.0)).step) * STEPS == pytest.approx(45.0, rel=1e-5)


def test_parts_of_a_channel_add_up_to_its_value() -> None:
    values = activations()
    plan = plan_rounding(limits_of(values))
    rounded = rounded_inputs(plan, values)
    rounded[:, CHANNELS:] -= plan.rests
    for channel in WIDE:
        own = [channel, *(CHANNELS + np.flatnonzero(plan.channels == channel))]
        assert np.abs(rounded[:, own].sum(axis=1) - values[:, channel]).max() <= 0.51 * float(plan.step)


def test_parts_make_a_product_more_exact() -> None:
    values, weight = activations(), weights()
    exact = values @ weight
    limits = limits_of(values)
    errors = [
        np.abs(product(plan, values, weight) - exact).mean()
        for plan in (plan_rounding(limits), even_rounding(limits.range()))
    ]
    assert errors[0] < 0.3 * errors[1]
    assert errors[0] < 0.02 * np.abs(exact).mean()


@pytest.mark.parametrize("seed", range(5))
def test_no_two_products_leave_sixteen_bits(seed: int) -> None:
    weight = weights(seed)
    weight[4:6, 0] = 1.0  # two large neighbours of one sign
    rounded, _ = plan_rounding(limits_of(activations(seed))).round_weights(weight)
    even = np.pad(rounded.astype(np.int64), ((0, len(rounded) % 2), (0, 0)))
    for sign in (1, -1):  # activations are never negative
        sums = np.maximum(sign * even, 0).reshape(-1, 2, even.shape[1]).sum(axis=1)
        assert STEPS * sums.max() <= LARGEST_SUM
    assert np.abs(rounded[:, 1:].astype(np.int64)).max() > 90  # the scale is as fine as that allows


def test_weights_come_back_but_for_rounding() -> None:
    weight = weights()
    plan = plan_rounding(limits_of(activations()))
    rounded, scales = plan.round_weights(weight)
    back = plan.gather(rounded) * scales
    assert np.abs(back - weight).max() <= 0.51 * scales.max()
    wide = list(WIDE)
    assert np.abs(back - weight)[wide].mean() < 0.5 * np.abs(back - weight).mean()


def test_a_channel_beyond_measure_does_not_stop_the_planning() -> None:
    limits = ChannelLimits(np.zeros(8, np.float32), np.array([1e9, *[1e-9] * 7], np.float32))
    plan = plan_rounding(limits)
    assert len(plan.channels) <= MOST_PARTS
    assert float(plan.step) * STEPS == pytest.approx(1e9, rel=1e-3)


def test_nothing_seen_is_rounded_to_zero() -> None:
    plan = plan_rounding(ChannelLimits(np.zeros(4, np.float32), np.zeros(4, np.float32)))
    assert len(plan.channels) == 0
    assert not product(plan, np.zeros((2, 4), np.float32), weights()[:4]).any()


def test_rounding_one_channel_is_made_good_by_those_that_go_with_it() -> None:
    chance = np.random.default_rng(0)
    shared = chance.normal(size=(500, 4))
    seen = (shared @ chance.normal(size=(4, 24)) + 0.1 * chance.normal(size=(500, 24))).astype(np.float32)
    weight = chance.normal(size=(24, 8)).astype(np.float32) * 0.01
    weight[0] = 1.0  # one wide weight leaves few steps to the others of its column
    alone = plan_rounding(limits_of(seen))
    together = plan_rounding(ChannelLimits(seen.min(axis=0), seen.max(axis=0), seen.T @ seen))
    errors = []
    for plan in (alone, together):
        rounded, scales = plan.round_weights(weight)
        errors.append(np.abs(seen @ (plan.gather(rounded) * scales) - seen @ weight).mean())
    assert errors[1] < errors[0] / 2


@pytest.mark.parametrize("seed", range(4))
def test_made_good_weights_stay_within_8_bits_and_pairs_of_them_within_16(seed: int) -> None:
    values = activations(seed)
    plan = plan_rounding(ChannelLimits(values.min(axis=0), values.max(axis=0), values.T @ values))
    weight = np.random.default_rng(seed).normal(size=(values.shape[1], 16)).astype(np.float32)
    rounded, _ = plan.round_weights(weight)
    assert len(rounded) == len(weight) + len(plan.channels)
    pairs = np.pad(rounded.astype(np.int64), ((0, len(rounded) % 2), (0, 0)))
    assert np.abs(rounded.astype(np.int64)).max() <= LARGEST
    assert (np.abs(pairs[::2] + pairs[1::2]) * STEPS).max() < 2**15


def test_channels_that_were_never_seen_to_be_anything_round_as_they_are() -> None:
    nothing = np.zeros(4, np.float32)
    plan = plan_rounding(ChannelLimits(nothing, nothing, np.zeros((4, 4), np.float32)))
    rounded, scales = plan.round_weights(np.eye(4, dtype=np.float32))
    assert np.allclose(rounded * scales, np.eye(4), atol=0.01)


def test_what_was_seen_in_two_parts_is_what_was_seen() -> None:
    values = activations()
    parts = [ChannelLimits(each.min(axis=0), each.max(axis=0), each.T @ each) for each in (values[:7], values[7:])]
    joined = parts[0].joined(parts[1])
    assert joined.products is not None
    assert np.allclose(joined.products, values.T @ values, rtol=1e-3, atol=1e-2)
