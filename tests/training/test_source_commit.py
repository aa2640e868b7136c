"""What a run records of the source that it ran from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from anselect.training.run_folder import environment
from anselect.training.source_commit import describe_source

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    package = tmp_path / "src" / "anselect"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / "notes.md").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    return package


def test_checkout_gives_its_commit(source: Path) -> None:
    assert describe_source(source) == {"commit": git(source, "rev-parse", "HEAD").strip()}


@pytest.mark.parametrize("name", ["__init__.py", "new.py"])
def test_changed_and_new_files_of_the_package_are_told(source: Path, name: str) -> None:
    (source / name).write_text("changed = True\n")
    assert describe_source(source)["commit_has_changes"] is True


def test_changes_outside_the_package_do_not_count(source: Path) -> None:
    (source.parent.parent / "notes.md").write_text("changed")
    assert "commit_has_changes" not in describe_source(source)


def test_package_inside_another_repository_has_no_commit(source: Path) -> None:
    installed = source.parent.parent / ".venv" / "lib" / "anselect"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert describe_source(installed) == {}


def test_untracked_package_in_the_right_place_has_no_commit(tmp_path: Path) -> None:
    package = tmp_path / "src" / "anselect"
    package.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    (package / "__init__.py").write_text("")
    assert describe_source(package) == {}


def test_another_repository_in_the_environment_is_not_asked(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = git(source, "rev-parse", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(source / "nowhere"))
    assert describe_source(source)["commit"] == expected


def test_missing_git_gives_nothing(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert describe_source(source) == {}


def test_broken_git_gives_nothing(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexit 128\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert describe_source(source) == {}


def test_environment_of_a_run_names_the_source() -> None:
    recorded = environment()
    assert recorded["versions"]["anselect"]
    assert {name: recorded[name] for name in describe_source()} == describe_source()
