from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import freeze_lowest
from anselect.modeling.siamese import SiameseConfig, SiameseModel
from anselect.training.estimate import (
    Weights,
    count_operations,
    count_weights,
    estimate_memory,
    measure_speed,
    padded_tokens,
)
from tests.training.tiny import SPECIALS, WORDS, save_tiny_bert


def test_operations_are_two_a_weight_forward_and_four_backward() -> None:
    weights = Weights(count=100, used=10, trained=10, layers=1, width=2)
    assert count_operations(weights, trained_tokens=3, scored_tokens=0) == 6 * 10 * 3
    assert count_operations(weights, trained_tokens=0, scored_tokens=3) == 2 * 10 * 3


def test_frozen_weights_cost_no_backward_pass() -> None:
    weights = Weights(count=100, used=10, trained=4, layers=1, width=2)
    assert count_operations(weights, trained_tokens=5, scored_tokens=2) == 2 * 10 * 7 + 4 * 4 * 5


def test_memory_is_weights_and_activations() -> None:
    weights = Weights(count=100, used=10, trained=10, layers=3, width=2)
    assert estimate_memory(weights, 7) == 100 * 16 + 4 * 34 * 7 * 3 * 2


def test_weights_of_a_cross_encoder_leave_out_the_embeddings(tmp_path: Path) -> None:
    model, _ = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32)
    found = count_weights(model)
    assert found.count - found.used == len(SPECIALS + WORDS) * 32
    assert (found.trained, found.layers, found.width) == (found.used, 2, 32)
    freeze_lowest(model.encoder, 1)
    bert: Any = model.encoder
    layer, embeddings = (
        sum(each.numel() for each in part.parameters()) for part in (bert.encoder.layer[0], bert.embeddings)
    )
    assert found.used - count_weights(model).trained == layer + embeddings - len(SPECIALS + WORDS) * 32


def test_weights_of_a_siamese_model_are_its_layers() -> None:
    # Attention 4 · 12 · 12 + 4 · 12, two dense layers of 12 · 12 + 12 each, two norms of 24, and the anchor.
    found = count_weights(SiameseModel(SiameseConfig(width=12)))
    assert found == Weights(count=985, used=985, trained=984, layers=1, width=12)
    ablation = count_weights(SiameseModel(SiameseConfig(width=12, encoder_layers=0)))
    assert (ablation.count, ablation.trained, ablation.layers) == (1, 0, 0)


def test_each_side_is_padded_to_its_own_longest_row() -> None:
    candidates, questions = np.array([5, 2, 9]), np.array([1, 4, 1])
    assert padded_tokens([candidates, questions], [0, 1]) == 2 * 5 + 2 * 4
    assert padded_tokens([candidates, questions], []) == 0


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=20), rows_per_pass=st.integers(0, 8))
def test_padding_never_takes_tokens_away(lengths: list[int], rows_per_pass: int) -> None:
    side = np.array(lengths)
    found = padded_tokens([side], range(len(lengths)), rows_per_pass=rows_per_pass)
    assert sum(lengths) <= found <= len(lengths) * max(lengths)


def test_speed_is_told_in_cpu_time_whatever_the_clock_on_the_wall_says(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "thread_time", lambda: next(ticks) * 0.5)
    monkeypatch.setattr(time, "perf_counter", lambda: pytest.fail("the wall clock was read"))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert measure_speed() == 2 * 2.0 * 1024 * 768 * 3072 / 0.5
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
