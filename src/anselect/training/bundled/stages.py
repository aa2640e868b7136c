"""Files in, trained models out: transfer on many passages, adapt to the benchmarks, learn from teachers."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe, check_recipe
from anselect.data.reading import read_questions, write_questions
from anselect.training.bundled.data import Build, StageFiles, write_stage
from anselect.training.bundled.exit_start import start_exit
from anselect.training.bundled.teacher import write_taught
from anselect.training.engine_import import load_start
from anselect.training.train import train

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "transfer": {"learning_rate": 1e-4, "epochs": 1, "frozen_layers": 1},
    "adapt": {"learning_rate": 5e-5, "epochs": 1, "frozen_layers": 1},
    # What the teacher says holds the labels already.
    "distil": {"learning_rate": 5e-5, "epochs": 1, "frozen_layers": 1, "loss": "distillation", "label_weight": 0.0},
    "adviser": {"learning_rate": 4e-5, "epochs": 1, "frozen_layers": 6, "encoder_dropout": 0.0},
    "lesson": {
        "learning_rate": 1.2e-4,
        "epochs": 2,
        "frozen_layers": 1,
        "loss": "distillation",
        "label_weight": 0.0,
        "encoder_dropout": 0.0,
        "average_steps": 100,
    },
}
SENTENCE_SETS: Final = ("wikiqa-", "trecqa-")
"""How ids of the dev sets begin whose candidates are sentences."""
EXIT_LISTS: Final = 800
"""So many lists are enough to fit the beginning of a first guess on."""
COMMON: Final[dict[str, Any]] = {
    "loss": "listwise-and-pointwise",
    "cross_entropy_weight": 0.3,
    "batch_size": 12,
    "checkpoint_steps": 200,
}


def stage_recipe(build: Build, stage: str, files: StageFiles, start: Path | None = None) -> Recipe:
    """Return the recipe of one stage."""
    model = {"encoder": build.encoder, "head": "sigmoid", "pooling": "mean", "max_tokens": build.max_tokens}
    if stage == "lesson":
        model |= {"exit_layer": build.exit_layer, "question_layers": build.question_layers}
    if stage == "adviser":
        model |= {"encoder": build.adviser, "head": "match"}
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


def train_adviser(build: Build) -> Path:
    """Train a larger model on sentences and on lists in which neither shared words nor length tells anything."""
    run = build.folder / "adviser"
    files = write_stage(build, "adviser")
    short = build.folder / "dev-sentences.jsonl"
    if not short.is_file():  # A larger model takes long to read forum posts, which it does not learn either.
        dev = read_questions(files.dev)
        write_questions([each for each in dev if each.id.startswith(SENTENCE_SETS)], short)
    train(stage_recipe(build, "adviser", StageFiles(files.train, short)), run)
    return run


def lesson(build: Build, adviser: Path, engine: Path) -> Path:
    """Go on from an engine folder, taught by itself, the larger model, the cosine and the labels; return the run.

    A first guess behind a lower layer is learnt beside the score.
    """
    run = build.folder / "lesson"
    files = write_taught(build, "lesson", engine, write_stage(build, "lesson"), adviser)
    train(stage_recipe(build, "lesson", files, lesson_start(build, engine)), run)
    return run


def lesson_start(build: Build, engine: Path) -> Path:
    """Write what the lesson begins with: the engine's weights, and a first guess fitted to its scores."""
    start = build.folder / "lesson-start"
    if not start.is_dir():
        ranker = load_start(str(engine))
        ranker.model.config.question_layers = build.question_layers
        lists = read_questions(write_stage(build, "lesson").train)
        start_exit(ranker, build.exit_layer, list(islice(lists, EXIT_LISTS)))
        ranker.save(start)
    return start


def member(build: Build, number: int) -> Build:
    """Return the building of one of several adapted models, which draw their lists and their order anew."""
    return replace(build, folder=build.folder / f"member-{number}", seed=build.seed + number)
