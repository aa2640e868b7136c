"""Every code block of the README runs as it stands, in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [
        code for found, code in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")) if found == language
    ]


def commands() -> list[str]:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ anselect")]


@pytest.fixture
def environment() -> dict[str, str]:
    binaries = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": binaries + os.pathsep + os.environ.get("PATH", "")}


def test_readme_has_code_of_both_kinds() -> None:
    assert blocks("python")
    assert commands()


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0])
def test_python_block_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_python_block_prints_what_its_comments_say(tmp_path: Path) -> None:
    """A line `print(...)  # → text` must print that text."""
    for code in blocks("python"):
        expected = re.findall(r"^print\(.*\)  # → (.*)$", code, re.MULTILINE)
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == expected


def test_commands_run_in_order(tmp_path: Path, environment: dict[str, str], benchmark_data: Path) -> None:
    environment["ANSELECT_DATA"] = str(benchmark_data)
    for command in commands():
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
