"""Files in, trained models out: a larger model learns everything, the model that ships learns from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe, check_recipe
from anselect.data.reading import read_questions, write_questions
from anselect.modeling.precision import fast_precision
from anselect.text.steps import TextSteps
from anselect.training.bundled.data import Build, StageFiles, write_stage
from anselect.training.bundled.teacher import write_taught
from anselect.training.train import build_ranker, train

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "adviser": {
        "loss": "listwise-and-pointwise",
        "learning_rate": 4e-5,
        "epochs": 1,
        "frozen_layers": 6,
    },
    # What the teacher says holds the labels already.
    "lesson": {
        "loss": "distillation",
        "label_weight": 0.0,
        "learning_rate": 1.5e-4,
        "epochs": 1,
        "frozen_layers": 1,
        "average_steps": 100,
    },
}
# The same from where the turn before ended, in another order: one turn leaves much of what the larger model knows.
SETTINGS["revision"] = SETTINGS["practice"] = SETTINGS["rehearsal"] = SETTINGS["lesson"]
SETTINGS["refresher"] = SETTINGS["lesson"] | {"learning_rate": 7e-5}
# For models of which the sets they never saw are asked: little is learnt, and little unlearnt.
SETTINGS["gentle"] = SETTINGS["lesson"] | {"learning_rate": 4e-5}
ORDERS: Final = {"revision": 1, "practice": 1, "rehearsal": 2, "refresher": 3}
"""What is added to the seed, so that no stage sees the lists in the order in which another has seen them."""
COMMON: Final[dict[str, Any]] = {
    "cross_entropy_weight": 0.3,
    "batch_size": 12,
    "checkpoint_steps": 200,
    "encoder_dropout": 0.0,
}
SENTENCE_SETS: Final = ("wikiqa-", "trecqa-")
"""How ids of the dev sets begin whose candidates are sentences."""


def stage_recipe(build: Build, stage: str, files: StageFiles, start: Path | None = None) -> Recipe:
    """Return the recipe of one stage, which may start from another's model."""
    model: dict[str, Any] = {"head": "match", "pooling": "mean", "max_tokens": build.max_tokens}
    if stage == "adviser":
        model |= {"encoder": build.adviser}
    else:
        model |= {
            "encoder": build.encoder,
            "exit_layer": build.exit_layer,
            "question_layers": build.question_layers,
            "sides_apart": build.sides_apart,
        }
    if start is not None:
        model |= {"start": str(start)}
    return check_recipe(
        {
            "name": f"bundled-{stage}",
            "description": f"the bundled model, {stage}",
            "data": {"train": str(files.train), "dev": str(files.dev), "train_questions": "all"},
            "model": model,
            "training": {
                **COMMON,
                **SETTINGS[stage],
                "seed": build.seed + ORDERS.get(stage, 0),
                "precision": fast_precision(),
            },
            "protocol": "answerable",
        },
        source=f"stage {stage}",
    )


def train_adviser(build: Build) -> Path:
    """Train the larger model, or go on with it; return the run's folder."""
    run = build.folder / "adviser"
    files = write_stage(build, "adviser")
    short = build.folder / "dev-sentences.jsonl"
    if not short.is_file():  # A larger model takes long to read forum posts.
        dev = read_questions(files.dev)
        write_questions([each for each in dev if each.id.startswith(SENTENCE_SETS)], short)
    train(stage_recipe(build, "adviser", StageFiles(files.train, short)), run)
    return run


def lesson(build: Build, adviser: Path | None, stage: str = "lesson") -> Path:
    """Teach the encoder by the larger model, its own cosine and the labels; return the run's folder.

    A first guess behind a lower layer is learnt beside the score. Without a larger model the labels take its place.
    `stage` may be "gentle": the same lists at a lower rate.
    """
    run = build.folder / stage
    files = write_taught(build, "lesson", write_stage(build, "lesson"), adviser)
    train(stage_recipe(build, stage, files), run)
    return run


def revise(build: Build, run: Path, adviser: Path | None) -> Path:
    """Go through the lesson once more, from the model that has learnt it; return the new run's folder."""
    again = build.folder / "revision"
    files = write_taught(build, "lesson", write_stage(build, "lesson"), adviser)
    train(stage_recipe(build, "revision", files, start=run), again)
    return again


def practise(build: Build, run: Path, adviser: Path, stage: str = "practice") -> Path:
    """Go on with other lists, most of which nobody but the larger model has judged; return the new run's folder.

    `stage` names the turn: "practice", then "rehearsal" through the same lists.
    """
    practice = build.folder / stage
    files = write_taught(build, "practice", write_stage(build, "practice"), adviser)
    train(stage_recipe(build, stage, files, start=run), practice)
    return practice


def take_refresher(build: Build, engine: Path) -> Path:
    """Teach the finished model by itself, the encoder's cosine and the labels; return the run's folder."""
    run = build.folder / "refresher"
    files = write_taught(build, "refresher", write_stage(build, "refresher"), engine)
    train(stage_recipe(build, "refresher", files, start=engine), run)
    return run


def untouched(build: Build, stage: str = "lesson") -> Path:
    """Write what a stage begins with: the encoder as it came, whose new head begins at the cosine of both sides."""
    folder = build.folder / ("untouched" if stage == "lesson" else f"untouched-{stage}")
    if not folder.is_dir():
        recipe = stage_recipe(build, stage, write_stage(build, stage))
        build_ranker(recipe, TextSteps()).save(folder)
    return folder
