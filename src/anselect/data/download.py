"""One file over HTTP, with the standard library only: resumed after a break, checked, whole or not there at all.

While bytes come in they are kept in `<name>.<tag>.part`; the tag stands for what the server says of the file's version
(ETag, date, length), so that a later attempt never joins halves of two versions.
"""

from __future__ import annotations

import glob
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from anselect.data.files import file_sha256
from anselect.errors import DownloadError, HashMismatchError, UsageError

CHUNK_BYTES: Final = 1 << 16
MAX_BYTES: Final = 1 << 30
# Worth another attempt: the server is busy or has not got its act together yet.
PASSING_STATUS: Final = frozenset([408, 425, 429, 500, 502, 503, 504])

Progress = Callable[[str, int, int | None], None]
"""Told of each chunk: file name, bytes so far, bytes in all where the server says so."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a download is tried."""

    attempts: int = 4
    """In a row that brought no new byte."""
    first_wait_seconds: float = 1.0
    """Doubled after each attempt."""
    timeout_seconds: float = 30.0
    """Without any answer."""


class _BrokenOffError(Exception):
    """The attempt failed in a way that may pass."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the server announced."""

    start: int
    """The place of its first byte in the file."""
    total: int | None
    tag: str


def download(
    url: str,
    target: Path,
    *,
    sha256: tuple[str, ...] = (),
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> str:
    """Download a file, going on from what an earlier attempt left, and return its sha256.

    With `sha256` given, other bytes raise HashMismatchError and are thrown away. DownloadError: the server refuses, the
    patience is used up, or the disk does not take it; what came so far is kept as a `.part` file.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise UsageError(f"expected an address that starts with http:// or https://, got '{url}'")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _download_part(url, target, progress or _no_progress, patience or Patience())
        return _finish(part, target, url, sha256)
    except OSError as error:
        # Network errors never get here: what remains is the disk.
        reason = f"{error.strerror or error}: free space, or choose another folder"
        raise DownloadError(f"{error.filename or target}: cannot write: {reason}") from error


def _no_progress(_name: str, _done: int, _total: int | None) -> None: ...


def _download_part(url: str, target: Path, progress: Progress, patience: Patience) -> Path:
    failures, most = 0, _part_size(target)
    while True:
        try:
            return _attempt(url, target, progress, patience.timeout_seconds)
        except _BrokenOffError as error:
            size = _part_size(target)
            # Only bytes beyond all before count, or a server that starts anew each time could keep us for ever.
            failures, most = (0, size) if size > most else (failures + 1, most)
            if failures >= patience.attempts:
                kept = f"; {size} bytes are kept, run it again to go on" if size else ""
                raise DownloadError(f"{url}: {error} ({failures} attempts){kept}") from error
            time.sleep(patience.first_wait_seconds * 2 ** max(failures - 1, 0))


def _attempt(url: str, target: Path, progress: Progress, timeout_seconds: float) -> Path:
    old_part = _find_part(target)
    offset = old_part.stat().st_size if old_part else 0
    with _open(url, offset, timeout_seconds, old_part) as response:
        reply = _understand(response, offset)
        if reply.total is not None and reply.total > MAX_BYTES:
            raise DownloadError(f"{url}: expected at most {MAX_BYTES} bytes, the server announces {reply.total}")
        part = target.with_name(f"{target.name}.{reply.tag}.part")
        if old_part and (reply.start != offset or part != old_part):
            old_part.unlink()
            if reply.start:
                raise _BrokenOffError("the file changed on the server since the last attempt")
        _append(response, part, reply, lambda done: progress(target.name, done, reply.total))
    return part


def _open(url: str, offset: int, timeout_seconds: float, old_part: Path | None) -> http.client.HTTPResponse:
    headers = {"User-Agent": "anselect", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        return cast(http.client.HTTPResponse, urllib.request.urlopen(request, timeout=timeout_seconds))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and old_part:
            old_part.unlink()
            raise _BrokenOffError("the server has no more bytes than the last attempt left") from error
        if error.code in PASSING_STATUS:
            raise _BrokenOffError(f"the server answered {error.code} {error.reason}") from error
        raise DownloadError(
            f"{url}: expected the file, the server answered {error.code} {error.reason}: look at the publisher's page"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"no connection: {getattr(error, 'reason', error)}") from error


def _understand(response: http.client.HTTPResponse, offset: int) -> _Reply:
    length = response.headers.get("Content-Length", "")
    start, total = 0, int(length) if length.isdigit() else None
    if response.status == HTTPStatus.PARTIAL_CONTENT:
        # `bytes 100-199/200`
        place, _, whole = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        first = place.partition("-")[0]
        start = int(first) if first.isdigit() else -1
        total = int(whole) if whole.isdigit() else None
        if start != offset:
            raise _BrokenOffError(f"asked for bytes from {offset} on, got '{response.headers.get('Content-Range')}'")
    version = (response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""), str(total))
    return _Reply(start, total, hashlib.sha256("\n".join(version).encode()).hexdigest()[:8])


def _append(response: http.client.HTTPResponse, part: Path, reply: _Reply, progress: Callable[[int], None]) -> None:
    done = reply.start
    with part.open("ab" if reply.start else "wb") as file:
        progress(done)
        for chunk in _chunks(response):
            file.write(chunk)
            done += len(chunk)
            progress(done)
            if done > MAX_BYTES:
                raise DownloadError(f"{part}: expected at most {MAX_BYTES} bytes, more came")
    if reply.total is not None and done != reply.total:
        raise _BrokenOffError(f"the connection broke off after {done} of {reply.total} bytes")


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise _BrokenOffError(f"the connection broke off: {error}") from error
        if not chunk:
            return
        yield chunk


def _finish(part: Path, target: Path, url: str, sha256: tuple[str, ...]) -> str:
    got = file_sha256(part)
    if sha256 and got not in sha256:
        part.unlink()
        raise HashMismatchError(
            f"expected sha256 {' or '.join(sha256)}, got {got} from {url}: the download was thrown away", path=target
        )
    part.replace(target)
    for leftover in _parts(target):
        leftover.unlink()
    return got


def _parts(target: Path) -> list[Path]:
    return list(target.parent.glob(f"{glob.escape(target.name)}.*.part"))


def _find_part(target: Path) -> Path | None:
    return max(_parts(target), key=lambda part: part.stat().st_size, default=None)


def _part_size(target: Path) -> int:
    part = _find_part(target)
    return part.stat().st_size if part else 0
