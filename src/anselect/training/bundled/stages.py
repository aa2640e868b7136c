"""Files in, trained models out: transfer on many passages, then adapt to the benchmarks' training parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe, check_recipe
from anselect.training.bundled.data import Build, StageFiles, write_stage
from anselect.training.bundled.teacher import write_taught
from anselect.training.train import train

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "transfer": {"learning_rate": 1e-4},
    "adapt": {"learning_rate": 5e-5, "average_steps": 100},
}
COMMON: Final[dict[str, Any]] = {
    "loss": "distillation",
    "label_weight": 0.0,  # what the teacher says holds the labels already
    "cross_entropy_weight": 0.3,
    "epochs": 1,
    "frozen_layers": 1,
    "encoder_dropout": 0.0,
    "batch_size": 12,
    "checkpoint_steps": 100,
}


def stage_recipe(build: Build, stage: str, files: StageFiles, start: Path | None = None) -> Recipe:
    """Return the recipe of one stage."""
    model = {
        "encoder": build.encoder,
        "head": "match",
        "pooling": "mean",
        "max_tokens": build.max_tokens,
        "exit_layer": build.exit_layer,
    }
    return check_recipe(
        {
            "name": f"bundled-{stage}",
            "description": f"the bundled model, {stage}",
            "data": {"train": str(files.train), "dev": str(files.dev), "train_questions": "all"},
            "model": {**model, "start": str(start) if start else ""},
            "training": {**COMMON, **SETTINGS[stage], "seed": build.seed},
            "protocol": "answerable",
        },
        source=f"stage {stage}",
    )


def transfer(build: Build) -> Path:
    """Train on passages, or go on with it; return the run's folder."""
    return _train(build, "transfer")


def adapt(build: Build, transferred: Path) -> Path:
    """Train on from a transferred model, or go on with it; return the run's folder.

    The transferred model saw none of the benchmarks, so that models that leave one of them out may share it.
    """
    return _train(build, "adapt", transferred)


def _train(build: Build, stage: str, start: Path | None = None) -> Path:
    run = build.folder / stage
    files = write_taught(build, stage, write_stage(build, stage))
    train(stage_recipe(build, stage, files, start), run)
    return run
