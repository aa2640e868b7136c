"""The plan of our own measurements: every combination once, and what is trained is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from anselect.config import load_recipe
from anselect.data.locate import DATA_VARIABLE
from anselect.errors import UsageError
from anselect.experiments.measurements import app, is_kept, plan_cells
from anselect.training.run_folder import open_run

PLAN = """
[[group]]
name = "two"
recipe = "minilm-linear"
settings = ["training.epochs=2"]
seeds = 2
[group.vary]
"model.head" = ["linear", "cnn"]
"text.lower_case" = [false, true]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_every_combination_and_seed_is_one_training(plan: Path, tmp_path: Path) -> None:
    cells = plan_cells(tmp_path, path=plan)
    assert len({cell.folder for cell in cells}) == len(cells) == 8
    last = cells[-1]
    assert last.folder.name == "wikiqa-minilm-head-cnn-lower-case-true-seed1"
    wanted = ["training.epochs=2", "model.head=cnn", "text.lower_case=true", "training.seed=1"]
    assert last.recipe == load_recipe("minilm-linear", wanted)


def test_unknown_groups_are_named_with_the_known_ones(plan: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected --group to be one of two, got 'three'"):
        plan_cells(tmp_path, ["three"], plan)


def test_trainings_of_the_shipped_plan_have_folders_of_their_own() -> None:
    cells = plan_cells(Path("runs"))
    assert len({cell.folder for cell in cells}) == len(cells)
    assert len({cell.recipe.model_dump_json(exclude={"name", "description"}) for cell in cells}) == len(cells)


def test_one_training_that_fails_ends_neither_the_others_nor_in_success(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = tmp_path / "none"
    none.mkdir()
    monkeypatch.delenv(DATA_VARIABLE, raising=False)  # Else real data is found, and trained on.
    options = ["--plan", plan, "--output", tmp_path / "runs", "--results", tmp_path, "--data-dir", none]
    done = CliRunner().invoke(app, [str(each) for each in options])
    assert done.exit_code == 1
    assert done.stderr.count("wikiqa") >= 8
    assert "cell 8 of 8" in done.stderr


def test_what_is_kept_is_not_trained_again(plan: Path, tmp_path: Path) -> None:
    cells = plan_cells(tmp_path / "runs", path=plan)
    results = tmp_path / "results"
    for cell, recipe in ((cells[0], cells[0].recipe), (cells[1], cells[2].recipe)):
        run = open_run(results / cell.folder.name, recipe, provenance={})
        run.metrics.write_text("{}", encoding="utf-8")
    assert [is_kept(cell, results) for cell in cells[:3]] == [True, False, False]
    options = ["--plan", plan, "--output", tmp_path / "runs", "--results", results, "--dry-run"]
    lines = CliRunner().invoke(app, [str(each) for each in options]).stdout.splitlines()
    assert [line.endswith(": kept") for line in lines] == [True] + [False] * 7


def test_an_encoder_is_named_by_its_last_part(tmp_path: Path) -> None:
    folders = [cell.folder.name for cell in plan_cells(tmp_path, ["larger"])]
    assert folders == ["wikiqa-mpnet-encoder-all-mpnet-base-v2-seed0"]
