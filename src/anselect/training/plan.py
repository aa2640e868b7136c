"""A recipe in, what its training would do out: pairs, steps, padding, and an estimate of time and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anselect.config import Recipe, recipe_to_toml
from anselect.errors import MissingFileError
from anselect.modeling.encoders import load_encoder
from anselect.modeling.rankers import TrainedRanker
from anselect.modeling.siamese_ranker import SiameseRanker
from anselect.records import Question
from anselect.training.batches import Rows, ShareSampler
from anselect.training.estimate import (
    Lengths,
    count_operations,
    count_weights,
    estimate_memory,
    estimate_seconds,
    padded_tokens,
)
from anselect.training.feature_lengths import LengthReader, SideRows
from anselect.training.prepare import TrainingData, choose_protocol, read_training_data, text_steps
from anselect.training.sampling import draw_units, padded_share
from anselect.training.train import build_ranker, build_rows


@dataclass(frozen=True, slots=True)
class Planned:
    """A training that could be started, with the lengths of what it would read."""

    recipe: Recipe
    ranker: TrainedRanker
    splits: Mapping[str, Rows]
    reader: LengthReader | None
    """Counts the tokens of features; None for a cross-encoder, whose rows are made of tokens."""


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
        planned = _prepare(recipe, data)
    except MissingFileError as error:
        return {**plan, "estimate": f"none: {error}"}
    return {**plan, **_describe_epoch(planned.splits["train"], recipe), **_estimate(planned)}


def _prepare(recipe: Recipe, data: TrainingData) -> Planned:
    ranker = build_ranker(recipe, text_steps(recipe.text))
    reader = LengthReader(recipe.model) if isinstance(ranker, SiameseRanker) else None

    def rows(questions: Sequence[Question]) -> Rows:
        return build_rows(ranker, questions, recipe) if reader is None else SideRows(questions, reader, recipe.model)

    # Highlighting hardly changes lengths: the plan leaves it out, for tagging takes minutes.
    splits = {"train": rows(data.train), "dev": rows(data.dev), "test": rows(data.test)}
    return Planned(recipe, ranker, splits, reader)


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


def _estimate(planned: Planned) -> dict[str, Any]:
    config, weights = planned.recipe.training, count_weights(planned.ranker.model)
    batches = _batch_tokens(planned)
    epochs = config.epochs if weights.trained else 0
    # Dev is scored after every epoch and, like test, once more at the end.
    scored = (epochs + 1) * _all_tokens(planned.splits["dev"]) + _all_tokens(planned.splits["test"])
    operations = count_operations(weights, trained_tokens=epochs * sum(batches), scored_tokens=scored)
    memory = estimate_memory(weights, max(batches, default=0) // config.accumulation_steps)
    return {
        "parameters": weights.count,
        "estimated_minutes": round(estimate_seconds(operations + _feature_operations(planned)) / 60, 1),
        "estimated_memory_mb": round(memory / 1e6),
        **_notes(planned),
    }


def _batch_tokens(planned: Planned) -> list[int]:
    """Return how many tokens, padding included, the model computes for each batch of an epoch."""
    rows = planned.splits["train"]
    batches = ShareSampler(rows, planned.recipe.training).batches()
    rows_per_pass = getattr(planned.ranker.model, "rows_per_pass", 0)
    sides = _sides(rows)
    return [
        padded_tokens(sides, {row for unit in batch for row in unit}, rows_per_pass=rows_per_pass) for batch in batches
    ]


def _all_tokens(rows: Rows) -> int:
    return sum(int(side.sum()) for side in _sides(rows))


def _sides(rows: Rows) -> list[Lengths]:
    """Return the lengths of what a model reads: one row for both texts, or a row for each."""
    return [rows.lengths, rows.question_lengths] if isinstance(rows, SideRows) else [rows.lengths]


def _feature_operations(planned: Planned) -> float:
    """Count what it takes to extract an encoder's features of all texts; other features are looked up, or ELMo's."""
    if planned.reader is None or planned.recipe.model.features != "encoder":
        return 0.0
    encoder = count_weights(load_encoder(planned.recipe.model.encoder))
    return count_operations(encoder, trained_tokens=0, scored_tokens=planned.reader.tokens)


def _notes(planned: Planned) -> dict[str, str]:
    kinds = {
        "encoder": "features counted in; those on disk from an earlier run take no time",
        "elmo": "without ELMo's features, which are extracted once and kept on disk",
    }
    note = "" if planned.reader is None else kinds.get(planned.recipe.model.features, "")
    return {"estimate": note} if note else {}
