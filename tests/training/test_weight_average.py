"""The running mean of weights: its arithmetic, that it is only lent to the model, and that it goes into a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from anselect.training.weight_average import WeightAverage


def one_weight(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


def follow(model: nn.Linear, average: WeightAverage, values: list[float]) -> None:
    for step, value in enumerate(values, start=1):
        nn.init.constant_(model.weight, value)
        average.update(step)


@pytest.mark.parametrize(
    ("values", "steps", "expected"),
    [
        ([4.0], 3, 4.0),
        ([1.0, 3.0], 3, 2.0),
        ([1.0, 3.0, 5.0], 3, 3.0),
        ([1.0, 3.0, 5.0, 9.0], 3, 5.0),
    ],
)
def test_mean_of_the_first_steps_then_exponential(values: list[float], steps: int, expected: float) -> None:
    model = one_weight(0.0)
    average = WeightAverage(model, steps)
    follow(model, average, values)
    with average.applied():
        assert model.weight.item() == pytest.approx(expected)
    assert model.weight.item() == values[-1]


def test_own_weights_come_back_after_an_error() -> None:
    model = one_weight(0.0)
    average = WeightAverage(model, 5)
    follow(model, average, [1.0, 3.0])
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    assert model.weight.item() == 3.0


def test_frozen_weights_are_left_alone() -> None:
    model = one_weight(2.0)
    model.weight.requires_grad = False
    average = WeightAverage(model, 5)
    average.update(1)
    with average.applied():
        assert model.weight.item() == 2.0


def test_means_are_read_back_as_they_were(tmp_path: Path) -> None:
    model = one_weight(0.0)
    average = WeightAverage(model, 5)
    follow(model, average, [1.0, 3.0])
    average.save(tmp_path)
    again = WeightAverage(model, 5)
    again.load(tmp_path)
    with again.applied():
        assert torch.equal(model.weight, torch.tensor([[2.0]]))
