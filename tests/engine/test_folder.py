from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anselect.engine.folder import MANIFEST, MODEL, TOKENIZER, Manifest, is_engine_folder, read_manifest, write_engine
from anselect.engine.ranker import load_engine
from anselect.errors import DataError, HashMismatchError, MissingFileError, UsageError

ABOUT = Manifest("engine x", "x", "int8", 32, 1, (0, 2))
FILES = {MODEL: b"model", TOKENIZER: b"{}"}


def change(folder: Path, **values: Any) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**content, **values}))


def test_written_manifest_comes_back(tmp_path: Path) -> None:
    about = Manifest("d", "s", "fp32", 64, 1, (0,), 1.5, -0.25, {"highlight": "none"}, {"kendall_tau": 0.9})
    written = write_engine(tmp_path / "a" / "engine", {**FILES, "README.md": b"# x"}, about)
    assert read_manifest(tmp_path / "a" / "engine") == written
    assert set(written.sha256) == {MODEL, TOKENIZER, "README.md"}
    assert (written.temperature, written.bias, written.drift) == (1.5, -0.25, {"kendall_tau": 0.9})
    assert is_engine_folder(tmp_path / "a" / "engine")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["engine"]


def test_engine_whose_replacement_was_killed_half_way_is_still_there(copied: Callable[[str], Path]) -> None:
    folder = copied("int8")
    whole = load_engine(folder).logits([("who", "he")])
    folder.rename(folder.with_name(".int8.old"))
    assert is_engine_folder(folder)
    assert load_engine(folder).logits([("who", "he")]).tolist() == whole.tolist()


def test_engine_is_replaced_and_other_folders_are_not(tmp_path: Path) -> None:
    write_engine(tmp_path / "engine", FILES, ABOUT)
    write_engine(tmp_path / "engine", {**FILES, MODEL: b"new"}, ABOUT)
    assert (tmp_path / "engine" / MODEL).read_bytes() == b"new"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep")
    with pytest.raises(UsageError, match="expected a new folder or an engine folder"):
        write_engine(tmp_path / "mine", FILES, ABOUT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["engine", "mine"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format_version": 2}, "expected anselect-engine version 1, got anselect-engine version 2"),
        ({"kind": "other"}, "got other version 1"),
        ({"max_tokens": "128"}, "expected a proper 'max_tokens', got '128'"),
        ({"reserved_tokens": None}, "expected a proper 'reserved_tokens'"),
        ({"temperature": 0}, "a positive temperature"),
        ({"sha256": {}}, "expected sha256 of both files"),
    ],
)
def test_other_manifest_is_refused_in_one_line(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    write_engine(tmp_path / "engine", FILES, ABOUT)
    change(tmp_path / "engine", **values)
    with pytest.raises(DataError, match=message) as error:
        read_manifest(tmp_path / "engine")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "{", "[1]", "\0"])
def test_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    write_engine(tmp_path / "engine", FILES, ABOUT)
    (tmp_path / "engine" / MANIFEST).write_text(content)
    with pytest.raises(DataError, match="expected"):
        read_manifest(tmp_path / "engine")


@pytest.mark.parametrize("name", [MODEL, TOKENIZER])
def test_replaced_and_missing_files_are_refused(copied: Callable[[str], Path], name: str) -> None:
    folder = copied("int8")
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(HashMismatchError, match="expected sha256"):
        read_manifest(folder)
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"expected {name}, it is not there"):
        read_manifest(folder)


def test_half_written_folder_counts_as_engine_and_is_refused(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_bytes(b"model")
    assert is_engine_folder(tmp_path)
    with pytest.raises(DataError, match="half-written"):
        read_manifest(tmp_path)


def test_no_folder_is_a_missing_file(tmp_path: Path) -> None:
    assert not is_engine_folder(tmp_path)
    with pytest.raises(MissingFileError, match="no such engine folder"):
        read_manifest(tmp_path / "none")
