"""The siamese model: padding never leaks, the ablation is a plain mean, and it learns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anselect.errors import UsageError
from anselect.modeling.encoders import masked_mean
from anselect.modeling.losses import cosine_mse
from anselect.modeling.siamese import (
    FeatureBatch,
    SiameseConfig,
    SiameseModel,
    default_heads,
    pad_features,
    positional_encoding,
)


def features(*lengths: int, width: int = 12, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length, width)).astype(np.float32) for length in lengths]


def build(*, width: int = 12, **settings: Any) -> Any:
    torch.manual_seed(0)
    return SiameseModel(SiameseConfig(width=width, **settings)).eval()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_batching_does_not_change_scores(layers: int) -> None:
    model = build(encoder_layers=layers)
    questions, candidates = features(3, 5, 1), features(9, 2, 4, seed=1)
    together = model.score(pad_features(questions), pad_features(candidates))
    alone = [model.score(pad_features([q]), pad_features([c])) for q, c in zip(questions, candidates, strict=True)]
    assert torch.allclose(together, torch.cat(alone), atol=1e-6)


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("is_training", [True, False])
def test_padding_never_leaks(layers: int, is_training: bool) -> None:
    model = build(encoder_layers=layers, dropout=0.0).train(is_training)
    batch = pad_features(features(3, 6))
    poisoned = torch.where(batch.mask.unsqueeze(2), batch.features, torch.tensor(float("nan")))
    assert torch.equal(model.encode(poisoned, batch.mask), model.encode(batch.features, batch.mask))


def test_ablation_is_the_cosine_of_plain_means(tmp_path: Path) -> None:
    model = build(encoder_layers=0)
    question, candidate = features(3, seed=1)[0], features(5, seed=2)[0]
    a, b = question.mean(0), candidate.mean(0)
    expected = (1 + a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) / 2
    score = model.score(pad_features([question]), pad_features([candidate]))
    assert score.item() == pytest.approx(float(expected), abs=1e-6)
    assert not [parameter for parameter in model.parameters() if parameter.requires_grad]
    model.save_pretrained(tmp_path)
    loaded = SiameseModel.from_pretrained(tmp_path)
    assert not [parameter for parameter in loaded.parameters() if parameter.requires_grad]
    assert torch.equal(loaded.score(pad_features([question]), pad_features([candidate])), score)


def test_order_of_tokens_matters_to_the_encoder_only() -> None:
    forward = features(4)
    backward = [array[::-1].copy() for array in forward]
    other = pad_features(features(3, seed=3))
    for layers, is_same in ((0, True), (1, False)):
        model = build(encoder_layers=layers)
        scores = [model.score(pad_features(texts), other) for texts in (forward, backward)]
        assert torch.allclose(scores[0], scores[1], atol=1e-6) == is_same


def test_text_without_tokens_scores_in_the_middle() -> None:
    empty = FeatureBatch(torch.zeros(1, 2, 12), torch.zeros(1, 2, dtype=torch.bool))
    model = build()
    assert model.score(empty, pad_features(features(3))).item() == 0.5
    model.train()
    model(empty.features, empty.mask, empty.features, empty.mask).cosines.sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())


def test_size_is_that_of_one_layer_with_equal_widths() -> None:
    model = build(width=300)
    trainable = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    # Attention 4 D² + 4 D, feed-forward 2 D² + 2 D, two norms 4 D.
    assert trainable == 6 * 300**2 + 10 * 300
    assert model.layers[0].self_attn.num_heads == 6
    assert build(width=768).layers[0].self_attn.num_heads == 8


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(UsageError, match=r"8 attention heads do not divide the features' width 300: try 6"):
        SiameseModel(SiameseConfig(width=300, attention_heads=8))


def test_default_heads_falls_back_to_one_for_a_prime_width() -> None:
    assert default_heads(13) == 1


def test_saved_model_scores_the_same(tmp_path: Path) -> None:
    model = build()
    model.save_pretrained(tmp_path)
    batch = pad_features(features(3, 6))
    assert torch.equal(SiameseModel.from_pretrained(tmp_path).score(batch, batch), model.score(batch, batch))


def test_start_values_are_pytorchs_own() -> None:
    weight = build(width=300).layers[0].linear1.weight
    # Uniform within 1 / √300, whose deviation is that over √3.
    assert weight.std().item() == pytest.approx(1 / math.sqrt(900), rel=0.02)


def test_encoder_learns_what_means_cannot_tell() -> None:
    torch.manual_seed(0)
    model = build(dropout=0.0)
    questions, candidates = pad_features(features(*[3] * 20)), pad_features(features(*[4] * 20, seed=9))
    labels = torch.tensor([1.0, 0.0] * 10)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for _ in range(150):
        cosines = model(questions.features, questions.mask, candidates.features, candidates.mask).cosines
        loss: Any = cosine_mse(cosines, labels, torch.ones_like(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scores = model.score(questions, candidates)
    assert scores[0::2].min() > scores[1::2].max()


def test_positional_encoding_known_values() -> None:
    encoding = positional_encoding(3, 5)
    assert encoding.shape == (3, 5)
    assert encoding[2, 0].item() == pytest.approx(math.sin(2))
    assert encoding[2, 3].item() == pytest.approx(math.cos(2 / 10_000 ** (2 / 5)))


def test_masked_mean_known_values() -> None:
    hidden = torch.tensor([[[1.0], [3.0], [99.0]]])
    assert masked_mean(hidden, torch.tensor([[True, True, False]])).tolist() == [[2.0]]
    assert masked_mean(hidden, torch.zeros(1, 3, dtype=torch.bool)).tolist() == [[0.0]]


def test_pad_features_cuts_and_pads() -> None:
    batch = pad_features(features(5, 2), max_tokens=3)
    assert batch.features.shape == (2, 3, 12)
    assert batch.mask.tolist() == [[True, True, True], [True, True, False]]
    assert not batch.features[1, 2].any()
