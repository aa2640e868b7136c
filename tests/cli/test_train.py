"""`anselect train` and `anselect export` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anselect.config import RECIPES
from anselect.data.reading import write_questions
from tests.cli.test_main import run
from tests.training.tiny import learnable_questions, save_tiny_bert


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_bert(folder / "bert")
    for split, seed in (("train", 0), ("dev", 1)):
        write_questions(learnable_questions(20, seed=seed), folder / f"{split}.tsv")
    changes = [
        f"model.encoder={folder / 'bert'}",
        "model.max_tokens=32",
        "training.learning_rate=3e-3",
        "training.epochs=2",
        "model.pooling=class",
    ]
    files = ["--train", str(folder / "train.tsv"), "--dev", str(folder / "dev.tsv")]
    return ["minilm-linear", *files, *(part for change in changes for part in ("--set", change))]


def test_list_shows_every_recipe_beside_its_published_figure() -> None:
    rows = {row["recipe"]: row for row in json.loads(run("train", "--list", "--format", "json").stdout)}
    assert rows["bas-base-fc-uncased"]["published MAP"] == 0.789
    assert rows["cete-roberta-large"]["published MRR"] == 0.915
    assert rows["minilm-linear"]["published MAP"] is None
    assert set(rows) == {file.stem for file in RECIPES.glob("*.toml")}


def test_dry_run_plans_and_writes_nothing(arguments: list[str], tmp_path: Path) -> None:
    plan = json.loads(
        run("train", *arguments, "--dry-run", "--format", "json", "--output", str(tmp_path / "run")).stdout
    )
    assert (plan["train_questions"], plan["steps_per_epoch"], plan["steps"]) == (20, 3, 6)
    assert plan["train_pairs"] == plan["units_per_epoch"]
    assert not (tmp_path / "run").exists()


def test_trained_run_ranks_evaluates_and_exports(arguments: list[str], tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    done = run("train", *arguments, "--output", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "dev MAP" in done.stderr
    metrics = json.loads(done.stdout)
    dev = arguments[arguments.index("--dev") + 1]
    evaluated = json.loads(run("evaluate", folder, "--data", dev, "--format", "json").stdout)
    assert evaluated["measures"]["MAP"]["value"] == pytest.approx(metrics["dev"]["answerable"]["MAP"], abs=1e-9)
    ranked = run(
        "rank", "who made the lamp", "the lamp is rome", "bell made the lamp", "--model", folder, "--format", "json"
    )
    assert [row["index"] for row in json.loads(ranked.stdout)] == [1, 0]
    exported = run("export", folder, str(tmp_path / "out"), "--as", "sentence-transformers")
    assert exported.returncode == 0, exported.stderr
    assert "scores differ by at most" in exported.stderr
    assert (tmp_path / "out" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["train"], 2, "expected a recipe, got none"),
        (["train", "minilm-linera"], 4, "Did you mean 'minilm-linear'?"),
        (
            ["train", "minilm-linear", "--set", "training.epoch=3"],
            2,
            "training.epoch: unknown key. Did you mean 'epochs'?",
        ),
        (["train", "minilm-linear", "--train", "nowhere.tsv"], 2, "expected a dev file beside the training file"),
        (["train", "minilm-linear", "--train", "nowhere.tsv", "--dev", "no.tsv"], 4, "nowhere.tsv: no such file"),
        (["export", "nowhere", "out"], 4, "nowhere: no such run or model folder"),
    ],
)
def test_mistake_ends_in_one_line(command: list[str], code: int, message: str) -> None:
    done = run(*command)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_damaged_model_is_refused(arguments: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("train", *arguments, "--output", str(folder)).returncode == 0
    weights = folder / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    done = run("rank", "q?", "a", "--model", str(folder))
    assert done.returncode == 5
    assert "model.safetensors" in done.stderr
    assert len(done.stderr.splitlines()) == 1
