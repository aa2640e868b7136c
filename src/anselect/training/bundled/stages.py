"""Files in, trained models out: transfer on many passages, then adapt to the benchmarks' training parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe, check_recipe
from anselect.training.bundled.data import StageFiles, write_stage
from anselect.training.train import train

ENCODER: Final = "sentence-transformers/all-MiniLM-L6-v2"
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "transfer": {"learning_rate": 1e-4, "epochs": 1, "frozen_layers": 1},
    "adapt": {"learning_rate": 4e-5, "epochs": 2, "frozen_layers": 1},
}
COMMON: Final[dict[str, Any]] = {
    "loss": "listwise-and-pointwise",
    "cross_entropy_weight": 0.3,
    "batch_size": 12,
    "checkpoint_steps": 200,
}


def stage_recipe(stage: str, files: StageFiles, *, start: Path | None, seed: int, encoder: str = ENCODER) -> Recipe:
    """Return the recipe of one stage."""
    model = {"encoder": encoder, "head": "sigmoid", "pooling": "mean", "max_tokens": 128}
    return check_recipe(
        {
            "name": f"bundled-{stage}",
            "description": f"the bundled model, {stage}",
            "data": {"train": str(files.train), "dev": str(files.dev), "train_questions": "all"},
            "model": {**model, "start": str(start) if start else ""},
            "training": {**COMMON, **SETTINGS[stage], "seed": seed},
            "protocol": "answerable",
        },
        source=f"stage {stage}",
    )


def train_stages(
    folder: Path, *, leave_out: str = "", transfer: Path | None = None, seed: int = 0, data_dir: Path | None = None
) -> Path:
    """Run both stages, or go on with them; return the adapted run's folder.

    `transfer` names a finished transfer run to start from: it saw none of the benchmarks, so that models for
    leaving one of them out may share it.
    """
    if transfer is None:
        transfer = folder / "transfer"
        files = write_stage(folder, "transfer", seed=seed, data_dir=data_dir)
        train(stage_recipe("transfer", files, start=None, seed=seed), transfer, data_dir=data_dir)
    files = write_stage(folder, "adapt", leave_out=leave_out, seed=seed, data_dir=data_dir)
    adapted = folder / "adapt"
    train(stage_recipe("adapt", files, start=transfer, seed=seed), adapted, data_dir=data_dir)
    return adapted
