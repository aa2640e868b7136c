"""A first guess fitted to a finished model: as good a linear guess as there is, whatever it was before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from anselect.modeling.rankers import CrossEncoderRanker
from anselect.training.bundled.exit_fit import fit_exit, least_squares
from anselect.training.bundled.logits import as_logits
from anselect.training.bundled.measure import scorer
from anselect.training.engine_import import load_start
from tests.training.bundled.test_mean_model import save_model
from tests.training.tiny import learnable_questions

LISTS = learnable_questions(60)


def said(ranker: CrossEncoderRanker, limit: float | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the logits of all candidates: the whole model's, or its first guesses where all leave."""
    ranker.model.config.exit_below = limit
    return as_logits([score for own in scorer(ranker)(LISTS) for score in own])


def spoilt(folder: Path, head: str) -> CrossEncoderRanker:
    ranker = load_start(str(save_model(folder, 1, head=head, exit_layer=1)))
    assert isinstance(ranker, CrossEncoderRanker)
    torch.nn.init.normal_(ranker.model.get_parameter("exit_head.output.weight"))
    return ranker


@pytest.mark.parametrize("head", ["match", "sigmoid"])
def test_guesses_come_near_the_whole_model(head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.training.bundled.exit_fit.RIDGE", 1e-3)
    ranker = spoilt(tmp_path, head)
    before, whole = said(ranker, float("inf")), said(ranker, None)
    fit_exit(ranker, LISTS)
    after = said(ranker, float("inf"))
    np.testing.assert_array_equal(said(ranker, None), whole)
    assert np.abs(after - whole).mean() < 0.2 * whole.std()
    assert np.abs(after - whole).mean() < 0.1 * np.abs(before - whole).mean()


def test_what_is_linear_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.training.bundled.exit_fit.RIDGE", 1e-9)
    chance = torch.Generator().manual_seed(0)
    inputs = torch.randn(50, 3, generator=chance, dtype=torch.float64) * torch.tensor([1.0, 100.0, 0.01]) + 5.0
    weight, bias = least_squares(inputs, inputs @ torch.tensor([2.0, -0.5, 40.0], dtype=torch.float64) + 7.0)
    torch.testing.assert_close(weight, torch.tensor([2.0, -0.5, 40.0], dtype=torch.float64))
    assert bias.item() == pytest.approx(7.0)
