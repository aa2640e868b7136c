"""A named data set from its publisher (or a mirror) into a folder: downloaded, checked, unpacked."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Final

from anselect.data.catalogue import DataFile, Dataset, HashStatus, find_dataset
from anselect.data.download import CHUNK_BYTES, MAX_BYTES, Patience, Progress, download
from anselect.data.files import file_sha256, write_bytes
from anselect.errors import DataError, DownloadError, HashMismatchError, PartlyDoneError

# What a damaged or odd zip makes the standard library raise; RuntimeError: it is encrypted.
ZIP_ERRORS: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file of a data set that is now on this machine."""

    path: Path
    sha256: str
    status: HashStatus
    was_there: bool
    """Whether it was there already, so that nothing was downloaded for it."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """How data sets are fetched."""

    base_url: str | None = None
    """A mirror that holds `<base_url>/<data set>/<file>`; None: the publishers' addresses."""
    progress: Progress | None = None
    patience: Patience = field(default_factory=Patience)


def fetch_dataset(name: str, root: Path, options: Fetching | None = None) -> list[FetchedFile]:
    """Download what is missing of a data set into `<root>/<name>` and return its files.

    Files that are there are kept; one whose sha256 is not the recorded one raises HashMismatchError, never overwritten.
    """
    dataset, options = find_dataset(name), options or Fetching()
    folder = root / name
    fetched = [_fetch_file(dataset, file, folder, options) for file in dataset.files.values() if file.urls is not None]
    for archive in dataset.archives.values():
        fetched += _fetch_archive(dataset, archive, folder, options)
    return fetched


def unpack(archive: Path, wanted: Mapping[str, DataFile], folder: Path, *, check: bool) -> list[FetchedFile]:
    """Unpack the wanted files of a zip, found by their names in whatever folder of the zip they are.

    No path of the zip is ever used, and nothing grows beyond MAX_BYTES, so that a hostile zip does no harm.
    With `check`, a file with other bytes than the recorded ones raises HashMismatchError.
    """
    try:
        with zipfile.ZipFile(archive) as unzipped:
            return [
                _unpack_member(unzipped, member, wanted[name], folder, check=check)
                for name, member in _wanted_members(unzipped.infolist(), wanted)
            ]
    except ZIP_ERRORS as error:
        raise DataError(
            f"expected a whole zip, got a damaged one ({error}): delete it, fetch again", path=archive
        ) from error


def _fetch_file(dataset: Dataset, file: DataFile, folder: Path, options: Fetching) -> FetchedFile:
    path = folder / file.name
    if path.exists():
        return _kept(path, file)
    sha256 = _download(dataset, file, path, options)
    return FetchedFile(path, sha256, file.status(sha256), was_there=False)


def _fetch_archive(dataset: Dataset, archive: DataFile, folder: Path, options: Fetching) -> list[FetchedFile]:
    members = {file.name: file for file in dataset.files.values() if file.archive == archive.name}
    there = [_kept(folder / name, file) for name, file in members.items() if (folder / name).exists()]
    wanted = {name: file for name, file in members.items() if not (folder / name).exists()}
    if not wanted:
        return there
    path = folder / archive.name
    was_there = path.exists()
    sha256 = file_sha256(path) if was_there else _download(dataset, archive, path, options)
    # What the publisher's own archive holds is the publisher's, even where another copy was hashed.
    unpacked = unpack(path, wanted, folder, check=sha256 not in archive.sha256)
    if not was_there:
        path.unlink()
    _require_all(archive, wanted, unpacked)
    return there + unpacked


def _require_all(archive: DataFile, wanted: Mapping[str, DataFile], unpacked: Iterable[FetchedFile]) -> None:
    absent = wanted.keys() - {file.path.name for file in unpacked}
    if absent:
        raise PartlyDoneError(
            f"{archive.name}: expected {', '.join(sorted(absent))} in it, not found; the other files are unpacked"
        )


def _kept(path: Path, file: DataFile) -> FetchedFile:
    sha256 = file_sha256(path)
    status = file.status(sha256)
    if status is HashStatus.changed:
        raise HashMismatchError(
            f"expected sha256 {' or '.join(file.sha256)}, got {sha256}: move it away to fetch it anew", path=path
        )
    return FetchedFile(path, sha256, status, was_there=True)


def _download(dataset: Dataset, file: DataFile, path: Path, options: Fetching) -> str:
    addresses = list(_addresses(dataset, file, options.base_url))
    if not addresses:
        raise DownloadError(
            f"{dataset.name}: no address of {file.name} is known: get it from {dataset.homepage} and put it into "
            f"{path.parent}, or name a mirror with --base-url"
        )
    for address in addresses[:-1]:
        try:
            return download(address, path, sha256=file.sha256, progress=options.progress, patience=options.patience)
        except DownloadError:
            continue
    return download(addresses[-1], path, sha256=file.sha256, progress=options.progress, patience=options.patience)


def _addresses(dataset: Dataset, file: DataFile, base_url: str | None) -> Iterator[str]:
    if base_url is not None:
        yield f"{base_url.rstrip('/')}/{dataset.name}/{file.name}"
    else:
        yield from file.urls or ()


def _wanted_members(
    members: Iterable[zipfile.ZipInfo], wanted: Mapping[str, DataFile]
) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Where a name comes twice, the one nearer to the root of the zip counts."""
    seen: set[str] = set()
    for member in sorted(members, key=lambda member: member.filename.count("/")):
        name = PurePosixPath(member.filename.replace("\\", "/")).name
        if name in wanted and name not in seen and not member.is_dir():
            seen.add(name)
            yield name, member


def _unpack_member(
    unzipped: zipfile.ZipFile, member: zipfile.ZipInfo, file: DataFile, folder: Path, *, check: bool
) -> FetchedFile:
    path = folder / file.name
    with unzipped.open(member) as source, write_bytes(path) as target:
        sha256 = _copy(source, target, path)
        status = file.status(sha256)
        if check and status is HashStatus.changed:
            raise HashMismatchError(
                f"expected sha256 {' or '.join(file.sha256)}, got {sha256} in the archive: not unpacked", path=path
            )
    return FetchedFile(path, sha256, status, was_there=False)


def _copy(source: IO[bytes], target: IO[bytes], path: Path) -> str:
    digest, done = hashlib.sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        done += len(chunk)
        if done > MAX_BYTES:
            raise DataError(f"expected at most {MAX_BYTES} bytes, the archive holds more", path=path)
        digest.update(chunk)
        target.write(chunk)
    return digest.hexdigest()
