"""A recipe in, what its training would do out: pairs, steps, padding, and an estimate of time and memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import torch
from transformers import PreTrainedModel

from anselect.config import Recipe, recipe_to_toml
from anselect.errors import MissingFileError
from anselect.training.batches import Rows, ShareSampler
from anselect.training.prepare import choose_protocol, read_training_data, text_steps
from anselect.training.sampling import draw_units, padded_share
from anselect.training.train import build_ranker, build_rows

USEFUL_SHARE: Final = 0.5
"""Share of the machine's matrix speed that a training was seen to reach."""
BYTES_PER_PARAMETER: Final = 16
"""Weight, gradient and Adam's two moments in float32."""
VALUES_PER_TOKEN_AND_LAYER: Final = 34
"""Activations kept for the backward pass, in widths of the encoder (Korthikanti et al. 2022, no attention maps)."""


def plan_training(recipe: Recipe, *, data_dir: Path | None = None) -> dict[str, Any]:
    """Return the resolved recipe and what would be done; where the encoder is not at hand, no estimate."""
    data = read_training_data(recipe.data, data_dir=data_dir)
    plan: dict[str, Any] = {
        "recipe_toml": recipe_to_toml(recipe),
        "protocol": choose_protocol(recipe, data).name,
        "train_questions": len(data.train),
        "train_pairs": data.pairs,
        "dev_questions": len(data.dev),
        "test_questions": len(data.test),
    }
    try:
        ranker = build_ranker(recipe, text_steps(recipe.text))
    except MissingFileError as error:
        return {**plan, "estimate": f"none: {error}"}
    # Highlighting hardly changes lengths: the plan leaves it out, for tagging takes minutes.
    rows = build_rows(ranker, data.train, recipe)
    return {**plan, **_describe_epoch(rows, recipe), **_estimate(ranker.model, rows, recipe)}


def _describe_epoch(rows: Rows, recipe: Recipe) -> dict[str, Any]:
    config = recipe.training
    drawn = draw_units(rows.groups, rows.labels, loss=config.loss, negatives=config.negatives, seed=(config.seed, 0))
    batches = ShareSampler(rows, config).batches()
    return {
        "units_per_epoch": len(drawn.units),
        "questions_left_out": drawn.left_out,
        "steps_per_epoch": len(batches),
        "steps": len(batches) * config.epochs,
        "padded_share": round(padded_share(batches, rows.lengths), 4),
    }


def _estimate(model: PreTrainedModel, rows: Rows, recipe: Recipe) -> dict[str, Any]:
    config = recipe.training
    batches = ShareSampler(rows, config).batches()
    tokens = sum(int(rows.lengths[row]) for batch in batches for unit in batch for row in unit)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    encoder: Any = getattr(model, "encoder", model)
    embeddings = encoder.get_input_embeddings().weight.numel()
    # Two operations per weight and token forward, four backward.
    operations = 6.0 * (parameters - embeddings) * tokens * config.epochs
    largest = max(
        sum(len(unit) for unit in batch) * max(rows.lengths[row] for unit in batch for row in unit) for batch in batches
    )
    layers, width = encoder.config.num_hidden_layers, encoder.config.hidden_size
    activations = 4 * VALUES_PER_TOKEN_AND_LAYER * int(largest) // config.accumulation_steps * layers * width
    return {
        "parameters": parameters,
        "estimated_minutes": round(operations / (_matrix_speed() * USEFUL_SHARE) / 60, 1),
        "estimated_memory_mb": round((parameters * BYTES_PER_PARAMETER + activations) / 1e6),
    }


def _matrix_speed() -> float:
    """Measure this machine's float32 operations a second on a matrix product of a training's size."""
    left, right = torch.rand(1024, 768), torch.rand(768, 3072)
    left @ right
    rounds = 10
    start = time.perf_counter()
    for _ in range(rounds):
        left @ right
    return rounds * 2.0 * 1024 * 768 * 3072 / (time.perf_counter() - start)
