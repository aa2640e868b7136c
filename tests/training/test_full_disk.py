"""A disk that fills up while a training saves: one line, the last checkpoint whole, and it goes on once there is room.

The disk is a small tmpfs, so that the operating system itself says "no space left".
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from anselect.config import recipe_to_toml
from anselect.data.reading import write_questions
from anselect.errors import AnselectError
from anselect.modeling.checkpoint import load_checkpoint, save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.training.train import train
from tests.cli.test_main import run
from tests.training.test_train import dev_figures, tiny_recipe, weights
from tests.training.tiny import learnable_questions, save_tiny_bert

PAGE = 4096


def mount(folder: Path, options: str) -> subprocess.CompletedProcess[str]:
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        done = mount(folder, "size=1m")
    except FileNotFoundError:
        pytest.skip("there is no mount command on this machine")
    if done.returncode != 0:
        pytest.skip(f"mounting a small disk is not permitted here: {done.stderr.strip()}")
    yield folder
    # Lazily: a failing test may still hold a file open.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(disk: Path, size: str) -> None:
    assert mount(disk, f"remount,size={size}").returncode == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_bert(folder / "bert")
    for split, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_questions(learnable_questions(20, seed=seed), folder / f"{split}.jsonl")
    train(tiny_recipe(folder, epochs=2, checkpoint_steps=6), folder / "whole")
    return folder


@pytest.mark.parametrize(
    ("size", "what"),
    [
        # A checkpoint takes 330 kB, a model 110 kB. The first checkpoint, after six steps, fits on both disks.
        ("420k", "model: the checkpoint could not be written"),
        ("620k", "checkpoints: could not save"),
    ],
    ids=["model", "checkpoint"],
)
def test_training_on_a_full_disk_ends_in_one_line_and_goes_on_later(
    disk: Path, folder: Path, tmp_path: Path, size: str, what: str
) -> None:
    resize(disk, size)
    file = tmp_path / "recipe.toml"
    recipe = tiny_recipe(folder, epochs=2, checkpoint_steps=6)
    file.write_text(recipe_to_toml(recipe))
    done = run("train", str(file), "--output", str(disk / "run"))
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert line.startswith(f"error: {disk / 'run'}")
    assert what in line
    assert re.search(r"; \d{1,3} kB free on that disk", line)
    assert [path.name for path in (disk / "run" / "checkpoints").rglob("checkpoint-*")] == ["checkpoint-6"]
    resize(disk, "4m")
    train(recipe, disk / "run")
    assert weights(disk / "run") == weights(folder / "whole")
    assert dev_figures(disk / "run") == dev_figures(folder / "whole")


def fill(disk: Path, leave: int) -> Path:
    """Write a file that leaves so many bytes of the disk free."""
    ballast = disk / "ballast"
    free = int(subprocess.run(["stat", "-f", "-c", "%a", str(disk)], capture_output=True, check=True).stdout) * PAGE
    ballast.write_bytes(b"\0" * (free - leave))
    return ballast


@pytest.mark.parametrize("leave", [0, 8 * PAGE, 22 * PAGE], ids=["nothing", "half", "all_but_the_tokenizer"])
def test_model_on_a_full_disk_stays_as_it_was(disk: Path, folder: Path, leave: int) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(str(folder / "bert"), max_tokens=32)
    save_checkpoint(model, tokenizer, disk / "model")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        model.head.output.bias += 1.0  # type: ignore[operator,union-attr]
    ballast = fill(disk, leave)
    with pytest.raises(AnselectError, match=r"No space left on device.*; \d{1,2} kB free") as caught:
        save_checkpoint(model, tokenizer, disk / "model")
    assert str(disk / "model") in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = load_checkpoint(disk / "model").model.state_dict()
    assert all(torch.equal(kept[name], before[name]) for name in before)
    assert sorted(path.name for path in disk.iterdir()) == ["ballast", "model"]
    ballast.unlink()
    save_checkpoint(model, tokenizer, disk / "model")
    assert torch.equal(
        load_checkpoint(disk / "model").model.state_dict()["head.output.bias"], before["head.output.bias"] + 1
    )
