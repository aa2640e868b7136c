"""Importing anselect and asking for help stay light: no heavy library is pulled in."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "spacy", "scipy", "transformers", "pyarrow", "bm25s", "matplotlib", "onnxruntime")
REPORT = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def modules_after(code: str) -> set[str]:
    output = subprocess.run([sys.executable, "-c", f"{code}\n{REPORT}"], capture_output=True, text=True, check=True)
    return set(output.stdout.split("\n")[-2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import anselect",
        "import sys; sys.argv = ['anselect', '--help']\nfrom anselect.cli.main import app\napp(standalone_mode=False)",
    ],
    ids=["import", "help"],
)
def test_start_pulls_in_no_heavy_library(code: str) -> None:
    modules = modules_after(code)
    assert "anselect" in modules
    assert not modules.intersection(HEAVY)


def test_report_would_show_a_heavy_library() -> None:
    assert "scipy" in modules_after("import scipy")
