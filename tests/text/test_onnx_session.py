from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anselect.errors import DataError
from anselect.text.onnx_session import open_session

ROOT = Path(__file__).parents[2]
RANK = "import anselect; anselect.load().rank('Who invented the telephone?', ['Bell did.', 'It rings.'])"
DETECT = "from anselect.text.answer_type import detect_answer_type; detect_answer_type('Who?')"


@pytest.mark.parametrize("code", [RANK, DETECT], ids=["rank", "detect"])
@pytest.mark.parametrize("writable", [True, False], ids=["folder", "no-folder"])
def test_nothing_is_kept_or_said_by_the_runtime(tmp_path: Path, code: str, writable: bool) -> None:
    cache = tmp_path / "cache"
    if writable:
        cache.mkdir()
    else:
        cache.write_text("not a folder")
    variables = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    variables["XDG_CACHE_HOME"] = str(cache)
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert not writable or list(cache.iterdir()) == []


def test_one_module_alone_imports_the_runtime() -> None:
    paths = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    found = [path.name for path in paths if re.search(r"^\s*(import|from) onnxruntime", path.read_text(), re.M)]
    assert found == ["onnx_session.py"]


def test_damaged_model_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(DataError, match=r"^[^\n]*model.onnx: expected a model [^\n]*: copy it anew$"):
        open_session(tmp_path / "model.onnx", repair="copy it anew")
