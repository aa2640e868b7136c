"""`anselect train` with what users get wrong and what disks do: one line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from anselect.cli.main import run as run_command
from anselect.data.reading import write_questions
from anselect.modeling.checkpoint import MANIFEST
from anselect.records import Question
from tests.training.tiny import learnable_questions, save_tiny_bert

Train = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_bert(folder / "bert")
    for split, seed in (("train", 0), ("dev", 1)):
        write_questions(learnable_questions(8, seed=seed), folder / f"{split}.tsv")
    write_questions(map(without_answer, learnable_questions(4)), folder / "zero.tsv")
    (folder / "header.tsv").write_text("question\tcandidate\tlabel\n")
    (folder / "empty.tsv").write_text("")
    return folder


def without_answer(question: Question) -> Question:
    return replace(question, candidates=tuple(replace(candidate, label=0) for candidate in question.candidates))


@pytest.fixture(autouse=True)
def no_new_handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave logging as it was: the command adds its handler each time."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    logger = logging.getLogger("anselect")
    before = list(logger.handlers)
    yield
    logger.handlers[:] = before


@pytest.fixture
def train(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Train:
    """The whole command, in this process: options in, exit code and the last line of stderr out."""

    def train(output: Path | None = None, **changes: str) -> tuple[int, str]:
        settings = {
            "model.encoder": str(folder / "bert"), "model.max_tokens": "32", "training.epochs": "2",
            "training.learning_rate": "3e-3", "training.batch_size": "8", "training.checkpoint_steps": "2",
            "data.train": str(folder / "train.tsv"), "data.dev": str(folder / "dev.tsv"),
            **{key.replace("__", "."): value for key, value in changes.items()},
        }  # fmt: skip
        options = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        command = ["anselect", "train", "minilm-linear", *options, "--output", str(output or tmp_path / "run")]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            run_command()
        lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note:")]
        assert len(lines) == (1 if ended.value.code else 0), lines
        return int(str(ended.value.code)), "".join(lines)

    return train


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"model__encoder": "nobody/no-such-encoder"}, 4, "encoder nobody/no-such-encoder: no such folder"),
        ({"data__train": "{folder}/zero.tsv"}, 5, "expected correct candidates to train on, got none"),
        ({"data__dev": "{folder}/zero.tsv"}, 5, "expected correct candidates in dev, got none"),
        ({"data__train": "{folder}/empty.tsv"}, 5, "empty.tsv"),
        ({"data__train": "{folder}/header.tsv"}, 5, "header.tsv"),
        ({"data__dev": "{folder}/header.tsv"}, 5, "header.tsv"),
        ({"data__dev": "{folder}/none.tsv"}, 4, "none.tsv: no such file"),
        ({"model__max_tokens": "100"}, 2, "max_tokens is 100: "),
        ({"training__batch_size": "0"}, 2, "training.batch_size: Input should be greater than or equal to 1, got 0"),
    ],
    ids=["encoder", "zero", "dev_zero", "empty", "no_rows", "dev_no_rows", "dev_missing", "too_long", "no_batch"],
)
def test_mistake_ends_in_one_line_and_its_exit_code(
    train: Train, folder: Path, changes: dict[str, str], code: int, message: str
) -> None:
    found, line = train(**{key: value.format(folder=folder) for key, value in changes.items()})
    assert found == code
    assert message in line


def test_folder_of_a_training_that_never_began_takes_the_mended_one(train: Train, tmp_path: Path) -> None:
    assert train(model__encoder="nobody/no-such-encoder")[0] == 4
    assert train() == (0, "")
    assert (tmp_path / "run" / "metrics.json").is_file()
    code, line = train(training__epochs="3")
    assert code == 2
    assert "holds a run of another recipe" in line


def test_output_that_is_no_folder_is_refused(train: Train, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for output in (tmp_path / "file", tmp_path / "file" / "run"):
        code, line = train(output)
        assert code == 6
        assert str(tmp_path / "file") in line
    assert (tmp_path / "file").read_text() == "mine"


def test_output_that_cannot_be_written_to_is_refused(train: Train) -> None:
    # The kernel's own files: nobody, not even root, makes a folder there.
    code, line = train(Path("/proc/sys/run"))
    assert code == 6
    assert "/proc/sys/run" in line


@pytest.fixture
def interrupted(train: Train, tmp_path: Path) -> Path:
    """A run whose training has a checkpoint and a best model, and is not finished."""
    assert train() == (0, "")
    (tmp_path / "run" / "metrics.json").unlink()
    return tmp_path / "run"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    "name",
    ["checkpoints/*/model.safetensors", "checkpoints/*/optimizer.pt", "checkpoints/*/trainer_state.json",
     "checkpoints/*/rng_state.pth", "model/model.safetensors"],
)  # fmt: skip
def test_damaged_checkpoint_is_never_gone_on_from(train: Train, interrupted: Path, name: str) -> None:
    (path,) = interrupted.glob(name)
    whole = path.read_bytes()
    cut(path)
    code, line = train()
    assert code == 5
    assert str(path) in line
    assert line.endswith(f"or remove {interrupted} to train anew")
    path.unlink()
    code, line = train()
    assert code == 5
    assert f"expected {path.name}, it is not there" in line
    path.write_bytes(whole)
    assert train() == (0, "")


def test_checkpoint_of_another_version_is_refused(train: Train, interrupted: Path) -> None:
    (path,) = interrupted.glob(f"checkpoints/*/{MANIFEST}")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99, "anselect": "9.0"}))
    code, line = train()
    assert code == 5
    assert "expected checkpoint version 1, got 99 (anselect 9.0)" in line


def test_run_of_another_version_is_refused(train: Train, interrupted: Path) -> None:
    recipe = interrupted / "recipe.toml"
    recipe.write_text(recipe.read_text() + "\n[optimizer]\nname = 1\n")
    code, line = train()
    assert code == 5
    assert "was this run made by another version of anselect?" in line
