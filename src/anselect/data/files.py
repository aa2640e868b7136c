"""Opening files for reading (plain or gzip, text checked) and writing them whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from anselect.errors import DataError, MissingFileError, UsageError

GZIP_MAGIC = b"\x1f\x8b"
STDIN = Path("-")


def require_file(path: Path) -> Path:
    """Return the path if a file stands there; raise MissingFileError otherwise."""
    if path == STDIN or path.is_file():
        return path
    if path.is_dir():
        raise MissingFileError(f"{path}: is a folder, expected a file: name the file in it")
    raise MissingFileError(f"{path}: no such file, expected one to read: check the path")


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file (or stdin for `-`) for reading bytes; gzip is recognised by its first two bytes, not by name."""
    require_file(path)
    raw = sys.stdin.buffer if path == STDIN else path.open("rb")
    buffered = io.BufferedReader(cast(io.RawIOBase, raw)) if path == STDIN else raw
    try:
        if buffered.peek(2)[:2] == GZIP_MAGIC:  # type: ignore[union-attr]
            with gzip.GzipFile(fileobj=buffered) as unzipped:
                yield cast(BinaryIO, unzipped)
        else:
            yield cast(BinaryIO, buffered)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"expected a whole gzip file, got a damaged one ({error}): fetch it again", path=path
        ) from error
    finally:
        if path != STDIN:
            raw.close()


def read_lines(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its LF or CRLF) of a text file; a BOM is dropped.

    Only LF ends a line: the benchmarks hold U+2028, form feeds and lone CR inside texts.
    Raises DataError for a wrong encoding or for NUL bytes (a binary file).
    """
    with open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            if b"\0" in line:
                is_utf16 = number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                binary = "binary data (a NUL byte): is this the right file?"
                what = "UTF-16: convert the file to UTF-8" if is_utf16 else binary
                raise DataError(f"expected text, got {what}", path=path, line=number)
            try:
                text = line.decode(encoding)
            except UnicodeDecodeError as error:
                message = (
                    f"expected {encoding} text, got byte 0x{line[error.start]:02x}: convert the file to {encoding}"
                )
                raise DataError(message, path=path, line=number) from error
            if number == 1:
                text = text.removeprefix("\ufeff")
            yield number, text.removesuffix("\n").removesuffix("\r")


def read_json_object(path: Path, repair: str) -> dict[str, Any]:
    """Read a file that holds one JSON object; `repair` ends the message of the DataError for any other content.

    Raises MissingFileError where there is no file.
    """
    text = require_file(path).read_bytes()
    try:
        content = json.loads(text)
    except ValueError as error:  # wrong JSON, or wrong UTF-8
        raise DataError(f"expected JSON, got a damaged file ({error}): {repair}", path=path) from error
    if not isinstance(content, dict):
        raise DataError(f"expected a JSON object, got {type(content).__name__}: {repair}", path=path)
    return content


@contextmanager
def write_text(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8, LF text file that appears under its name only when everything was written."""
    with write_bytes(path) as file:
        text = io.TextIOWrapper(cast(IO[bytes], file), encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


@contextmanager
def write_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when everything was written: write, fsync, rename.

    A link stays one, and what it leads to is written; a device or pipe is written to as it is.
    Raises UsageError where a folder has the name; an OSError names the file, never the one that is being written.
    """
    if path.is_dir():
        raise UsageError(f"{path}: expected a file to write, got a folder: name a file in it")
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve() if path.is_symlink() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        if error.filename == str(part):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):
            part.unlink()


def file_sha256(path: Path) -> str:
    """Return the hex sha256 of a file's bytes, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; some file systems forget it in a power cut otherwise."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(part: Path, folder: Path) -> None:
    """Put a folder that is written and whole into the place of another, or of none.

    A folder cannot be renamed over another: the old one steps aside first, and `present_folder` finds it there if a
    kill comes between.
    """
    backup = _backup(folder)
    if folder.exists():
        shutil.rmtree(backup, ignore_errors=True)
        folder.rename(backup)
    part.rename(folder)
    shutil.rmtree(backup, ignore_errors=True)


def copy_folder(source: Path, folder: Path) -> None:
    """Put a copy of a folder into the place of another, or of none; it appears only when complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        shutil.copytree(source, part)
        replace_folder(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def present_folder(folder: Path) -> Path | None:
    """Return the folder, its predecessor where a replacement was killed half-way, or None; nothing is changed."""
    return next((place for place in (folder, _backup(folder)) if place.is_dir()), None)


def _backup(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")
