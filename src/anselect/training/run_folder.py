"""The folder of one run: what lies where, what is whole, what it was made from.

recipe.toml       the resolved recipe, every key
environment.json  versions, git commit of a checkout, data files with their sha256, machine
metrics.jsonl     what training logged, a line each
tensorboard/      the same for TensorBoard
checkpoints/      checkpoint-<step>/, for resuming; each appears whole, by a rename, and older ones are deleted then
model/            the best epoch's model on dev, with tokenizer and model card
dev.trec test.trec
metrics.json      figures; written last: a run that has it is finished
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anselect.config import Recipe, check_recipe, recipe_to_toml
from anselect.data.files import write_text
from anselect.errors import DataError, UsageError
from anselect.training.source_commit import describe_source

PACKAGES = ("anselect", "torch", "transformers", "accelerate", "tokenizers", "numpy", "spacy")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths inside a run's folder."""

    path: Path

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.toml"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def log(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.json"

    def ranking(self, split: str) -> Path:
        """Return where the TREC run of a split lies."""
        return self.path / f"{split}.trec"

    @property
    def has_begun(self) -> bool:
        """Whether something was trained or measured here."""
        return self.recipe.is_file() and any(path.exists() for path in (self.log, self.model, self.metrics))

    @property
    def is_finished(self) -> bool:
        return self.metrics.is_file()


def open_run(path: Path, recipe: Recipe, *, provenance: Mapping[str, Any]) -> RunFolder:
    """Start a run in a folder, or take up the one that lies there; a folder of another recipe is refused.

    A run that never began to train (its encoder was not to be had) gives way to another recipe.
    """
    run = RunFolder(path)
    if run.has_begun:
        if read_recipe(run) != recipe:
            raise UsageError(f"{path}: holds a run of another recipe: choose another --output or remove the folder")
        return run
    if path.is_dir() and not run.recipe.is_file() and any(path.iterdir()):
        raise UsageError(f"{path}: expected an empty folder or a run, got other files: choose another --output")
    with write_text(run.environment) as file:
        json.dump({**environment(), **provenance}, file, indent=2, ensure_ascii=False)
    with write_text(run.recipe) as file:
        file.write(recipe_to_toml(recipe))
    return run


def read_recipe(run: RunFolder) -> Recipe:
    """Read the resolved recipe of a run."""
    import tomllib

    try:
        values = tomllib.loads(run.recipe.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"expected a run's recipe, got: {error}", path=run.recipe) from error
    try:
        return check_recipe(values, source=str(run.recipe))
    except UsageError as error:
        raise DataError(f"{error}: was this run made by another version of anselect? see environment.json") from error


def environment() -> dict[str, Any]:
    """Describe what a run was made with."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return {**machine, "versions": versions, **describe_source()}


def last_checkpoint(run: RunFolder) -> Path | None:
    """Return the checkpoint with the most steps; leftovers of an interrupted save are removed."""
    shutil.rmtree(staging(run), ignore_errors=True)
    found = [path for path in run.checkpoints.glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", path.name)]
    return max(found, key=_steps, default=None)


def staging(run: RunFolder) -> Path:
    """Return where a checkpoint is written before it is renamed to its place."""
    return run.checkpoints / ".unfinished"


def remove_older_checkpoints(run: RunFolder, newest: Path) -> None:
    """Delete every checkpoint but the newest."""
    for path in run.checkpoints.glob("checkpoint-*"):
        if path != newest:
            shutil.rmtree(path)


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])
