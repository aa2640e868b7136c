"""Opening what is written as text: a plain file, a gzip file (`.gz`), or stdout (`-`)."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from anselect.data.files import write_bytes, write_text

STDOUT = Path("-")


@contextmanager
def open_text_target(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8, LF text target; a file appears under its name only when everything was written."""
    if path == STDOUT:
        with _as_text(sys.stdout.buffer) as text:
            yield text
    elif path.suffix == ".gz":
        # No name and no time inside, so that the same data gives the same bytes.
        with (
            write_bytes(path) as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped,
            _as_text(cast(BinaryIO, zipped)) as text,
        ):
            yield text
    else:
        with write_text(path) as text:
            yield text


@contextmanager
def _as_text(binary: BinaryIO) -> Iterator[IO[str]]:
    text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
    try:
        yield text
        text.flush()
    finally:
        # Without this the wrapper would close stdout when it is thrown away.
        text.detach()
