"""The small records of finished runs, kept under results/: read here, nothing is computed.

NAME/metrics.json       the run's figures, as training wrote them
NAME/recipe.toml        the resolved recipe
NAME/environment.json   versions, data files, commit
NAME/dev.trec.gz        the rankings; NAME/test.trec.gz too
baselines.json          question counts, and what rankings that learn nothing get, by data set, split and protocol
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anselect.config import Recipe
from anselect.data.catalogue import dataset_names
from anselect.data.files import read_json_object
from anselect.errors import DataError, MissingFileError
from anselect.training.run_folder import RunFolder, read_recipe

BASELINES_FILE: Final = "baselines.json"
SPLITS: Final = ("dev", "test")
COMMIT_SHOWN: Final = 12
REPAIR: Final = "keep the run again"


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One finished run's records."""

    path: Path
    recipe: Recipe
    metrics: Mapping[str, Any]
    environment: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def system(self) -> str:
        """The name without the seed: runs that differ in their seed only are one system."""
        return re.sub(r"-seed\d+$", "", self.name)

    @property
    def seed(self) -> int:
        return self.recipe.training.seed

    @property
    def data(self) -> str | None:
        """The data set's name in the catalogue; None for own files."""
        name = self.recipe.data.name
        return name if not self.recipe.data.train and name in dataset_names() else None

    @property
    def commit(self) -> str:
        """The commit that trained the run and what is to be known of it, in words."""
        recorded, later = self.environment.get("commit"), self.environment.get("commit_when_kept")
        if recorded is None:
            return f"{later[:COMMIT_SHOWN]} (when kept)" if later else "not known"
        return str(recorded)[:COMMIT_SHOWN] + (" (with changes)" if self.environment.get("commit_has_changes") else "")

    def run_file(self, split: str) -> Path:
        """Return where the ranking of a split lies."""
        return self.path / f"{split}.trec.gz"

    def figures(self, split: str) -> Mapping[str, Mapping[str, float]]:
        """Return measures by protocol; empty where the split was not measured."""
        found: Mapping[str, Mapping[str, float]] = self.metrics.get(split, {})
        return found


def read_kept_runs(folder: Path) -> list[KeptRun]:
    """Read all records below a folder, by name; raise DataError where one is not whole or a system's runs differ."""
    if not folder.is_dir():
        raise MissingFileError(f"{folder}: expected a folder of kept runs, there is none")
    runs = [_read(path.parent) for path in sorted(folder.glob("*/metrics.json"))]
    _check_systems(runs)
    return runs


def read_baselines(folder: Path) -> dict[str, Any]:
    """Return what baselines.json holds, empty where there is none."""
    path = folder / BASELINES_FILE
    return dict(_read_record(path)) if path.is_file() else {}


def group_systems(runs: Sequence[KeptRun]) -> dict[str, list[KeptRun]]:
    """Return the runs of each system, by seed."""
    groups: dict[str, list[KeptRun]] = {}
    for run in sorted(runs, key=lambda run: (run.system, run.seed)):
        groups.setdefault(run.system, []).append(run)
    return groups


def _read(path: Path) -> KeptRun:
    metrics = _read_record(path / "metrics.json")
    return KeptRun(path, read_recipe(RunFolder(path)), metrics, _read_record(path / "environment.json"))


def _read_record(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise MissingFileError(f"{path}: expected a kept run's record, there is none: {REPAIR}")
    return read_json_object(path, REPAIR)


def _check_systems(runs: Sequence[KeptRun]) -> None:
    for system, own in group_systems(runs).items():
        recipes = {run.recipe.model_dump_json(exclude={"training": {"seed"}}) for run in own}
        seeds = {run.seed for run in own}
        if len(recipes) > 1:
            raise DataError(f"{system}: expected runs that differ in their seed only, got {len(recipes)} recipes")
        if len(seeds) < len(own):
            raise DataError(f"{system}: expected one run a seed, got {len(own)} runs of {len(seeds)} seeds")
