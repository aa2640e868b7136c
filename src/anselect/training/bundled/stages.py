"""Files in, trained models out: transfer on many passages, then adapt to the benchmarks' training parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe, check_recipe
from anselect.training.bundled.data import Build, StageFiles, write_stage
from anselect.training.bundled.teacher import write_taught
from anselect.training.train import train

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "transfer": {"learning_rate": 1e-4, "epochs": 1, "frozen_layers": 1},
    "adapt": {"learning_rate": 5e-5, "epochs": 1, "frozen_layers": 1},
    # What the teacher says holds the labels already.
    "distil": {"learning_rate": 5e-5, "epochs": 1, "frozen_layers": 1, "loss": "distillation", "label_weight": 0.0},
    "written": {
        "learning_rate": 7e-5,
        "epochs": 1,
        "frozen_layers": 1,
        "loss": "distillation",
        "label_weight": 0.0,
        "encoder_dropout": 0.0,
        "average_steps": 100,
    },
}
COMMON: Final[dict[str, Any]] = {
    "loss": "listwise-and-pointwise",
    "cross_entropy_weight": 0.3,
    "batch_size": 12,
    "checkpoint_steps": 200,
}


def stage_recipe(build: Build, stage: str, files: StageFiles, start: Path | None = None) -> Recipe:
    """Return the recipe of one stage."""
    model = {"encoder": build.encoder, "head": "sigmoid", "pooling": "mean", "max_tokens": build.max_tokens}
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
    run = build.folder / "transfer"
    train(stage_recipe(build, "transfer", write_stage(build, "transfer")), run)
    return run


def adapt(build: Build, transferred: Path) -> Path:
    """Train on from a transferred model, or go on with it; return the run's folder.

    The transferred model saw none of the benchmarks, so that models that leave one of them out may share it.
    """
    run = build.folder / "adapt"
    train(stage_recipe(build, "adapt", write_stage(build, "adapt"), transferred), run)
    return run


def distil(build: Build, teacher: Path) -> Path:
    """Teach a trained model what it and the encoder's own cosine know together; return the run's folder."""
    run = build.folder / "distil"
    files = write_taught(build, "distil", teacher, write_stage(build, "distil"))
    train(stage_recipe(build, "distil", files, teacher), run)
    return run


def learn_written(build: Build, engine: Path) -> Path:
    """Go on from an engine folder with lists written for it, and with its own scores on all else; return the run."""
    run = build.folder / "written"
    files = write_taught(build, "written", engine, write_stage(build, "written"))
    train(stage_recipe(build, "written", files, engine), run)
    return run


def member(build: Build, number: int) -> Build:
    """Return the building of one of several adapted models, which draw their lists and their order anew."""
    return replace(build, folder=build.folder / f"member-{number}", seed=build.seed + number)
