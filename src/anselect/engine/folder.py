"""An engine folder in, its checked manifest out, and the other way round; the folder is whole or it is not there.

The folder holds `model.onnx`, `tokenizer.json` and `manifest.json`, which names every file with its sha256.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, Final

from anselect.data.files import file_sha256, present_folder, read_json_object, replace_folder, write_bytes
from anselect.errors import DataError, HashMismatchError, MissingFileError, UsageError

BUNDLED: Final = Path(__file__).parents[1] / "bundled" / "ranker"
BUNDLED_NAME: Final = "bundled"
"""Names the bundled model wherever a model is asked for; a folder of that name is `./bundled`."""
MANIFEST: Final = "manifest.json"
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
KIND: Final = "anselect-engine"
FORMAT_VERSION: Final = 1
"""Grows when a folder of this version can no longer be read as one of the version before."""
REPAIR: Final = "export the model again, or copy the folder anew"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an engine folder says of itself."""

    description: str
    """One line that tells a user what ranks."""
    source: str
    """What it was exported from."""
    precision: str
    """int8 or fp32."""
    max_tokens: int
    unknown_token: int
    reserved_tokens: tuple[int, ...]
    """Special tokens, which no text may forge: read as the unknown one where a text names them."""
    temperature: float = 1.0
    bias: float = 0.0
    """A score is sigmoid(logit / temperature + bias)."""
    text_steps: Mapping[str, Any] = field(default_factory=dict)
    """How texts are prepared before the model reads them; a model must see them as in training."""
    drift: Mapping[str, Any] = field(default_factory=dict)
    """What the export measured against the original model."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Every other file of the folder; filled in when it is written."""

    @property
    def model_hash(self) -> str:
        """The sha256 that tells this model from all others: model and tokenizer."""
        return f"{self.sha256[MODEL]}{self.sha256[TOKENIZER]}"


def model_path(model: str | PathLike[str] | None) -> Path:
    """Return where a model that is named by folder lies; the bundled one for None and `bundled`."""
    return BUNDLED if model is None or model == BUNDLED_NAME else Path(model)


def is_engine_folder(path: Path) -> bool:
    """Say whether a folder is meant to be an engine folder; one that is damaged or half-written is, too."""
    place = present_folder(path) or path
    return (place / MODEL).is_file() or (place / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest and check every file against it.

    Raises MissingFileError where there is no folder, DataError for a half-written or damaged one or one of another
    version, HashMismatchError for a replaced file.
    """
    if not folder.is_dir():
        raise MissingFileError(f"{folder}: no such engine folder")
    if not (folder / MANIFEST).is_file():
        raise DataError(f"expected {MANIFEST}, it is not there: not an engine folder, or half-written", path=folder)
    content = read_json_object(folder / MANIFEST, REPAIR)
    found = content.get("format_version")
    if content.get("kind") != KIND or found != FORMAT_VERSION:
        message = f"expected {KIND} version {FORMAT_VERSION}, got {content.get('kind')} version {found}"
        raise DataError(f"{message}: export it with this version of anselect", path=folder / MANIFEST)
    manifest = _as_manifest(content, folder / MANIFEST)
    for name, expected in manifest.sha256.items():
        _check_file(folder / name, expected)
    return manifest


def write_engine(folder: Path, files: Mapping[str, bytes], manifest: Manifest) -> Manifest:
    """Write an engine folder, which appears only when complete; return the manifest with the files' hashes.

    Raises UsageError for a folder that holds anything but an engine, which is replaced.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder}: expected a new folder or an engine folder, got one with other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        for name, content in files.items():
            with write_bytes(part / name) as file:
                file.write(content)
        written = _with_hashes(manifest, {name: file_sha256(part / name) for name in files})
        document = {"kind": KIND, "format_version": FORMAT_VERSION, **asdict(written)}
        with write_bytes(part / MANIFEST) as file:
            file.write(json.dumps(document, indent=2, ensure_ascii=False).encode())
        replace_folder(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return written


def _with_hashes(manifest: Manifest, hashes: dict[str, str]) -> Manifest:
    return Manifest(**{**asdict(manifest), "sha256": hashes})


# What a value of each field may be; a whole number stands for a float as well.
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "description": str,
    "source": str,
    "precision": str,
    "max_tokens": int,
    "unknown_token": int,
    "reserved_tokens": list,
    "temperature": (int, float),
    "bias": (int, float),
    "text_steps": dict,
    "drift": dict,
    "sha256": dict,
}


def _as_manifest(content: Mapping[str, Any], path: Path) -> Manifest:
    values: dict[str, Any] = {each.name: content.get(each.name) for each in fields(Manifest)}
    for name, value in values.items():
        if not isinstance(value, _KINDS[name]):
            raise DataError(f"expected a proper '{name}', got {value!r:.40}: {REPAIR}", path=path)
    if not {MODEL, TOKENIZER} <= set(content["sha256"]) or not content["temperature"] > 0:
        raise DataError(f"expected sha256 of both files and a positive temperature: {REPAIR}", path=path)
    return Manifest(**{**values, "reserved_tokens": tuple(content["reserved_tokens"])})


def _check_file(path: Path, expected: str) -> None:
    if not path.is_file():
        raise DataError(f"expected {path.name}, it is not there: {REPAIR}", path=path.parent)
    found = file_sha256(path)
    if found != expected:
        raise HashMismatchError(f"expected sha256 {expected[:12]}…, got {found[:12]}…: {REPAIR}", path=path)
