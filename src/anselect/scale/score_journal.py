"""What is finished of a scoring, kept beside the output so that it goes on after a kill: a part file and a journal."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from anselect.data.files import write_bytes
from anselect.errors import UsageError

VERSION: Final = 1
HEAD_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scoring has come: what is counted here is on disk."""

    groups: int = 0
    rows: int = 0
    part_bytes: int = 0
    """Length of the part file up to which it counts; what stands behind was cut off in writing."""


def describe_input(path: Path) -> dict[str, Any]:
    """Return what tells an input from another: size, time of change, sha256 of the first megabyte."""
    status = path.stat()
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()
    return {"bytes": status.st_size, "changed_ns": status.st_mtime_ns, "head_sha256": head}


def describe_folder(folder: Path) -> str:
    """Return a sha256 over names, sizes and times of change of the files in a folder, as a model's is."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = path.stat()
        digest.update(f"{path.relative_to(folder)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class PartFile:
    """The growing part file of one output and its journal; a context, locked against a second process."""

    def __init__(self, target: Path, job: Mapping[str, Any]) -> None:
        self.path = target.with_name(f"{target.name}.part")
        self.journal = target.with_name(f"{target.name}.journal")
        self._job = {"version": VERSION, **job}
        self.done = Progress()
        self.begun_anew = ""
        """Why what was there does not count; empty where nothing was there or it goes on."""
        self._file: BinaryIO

    def __enter__(self) -> PartFile:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab")
        _lock(self._file, self.path)
        self.done, self.begun_anew = self._read_journal()
        self._file.truncate(self.done.part_bytes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, content: bytes, *, groups: int, rows: int) -> None:
        """Append a chunk; when this returns it is on disk and counts."""
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())
        done = self.done
        self.done = Progress(done.groups + groups, done.rows + rows, done.part_bytes + len(content))
        with write_bytes(self.journal) as file:
            file.write(json.dumps({"job": self._job, "done": asdict(self.done)}).encode())

    def discard(self) -> None:
        """Remove part file and journal, when the output is there."""
        self.path.unlink(missing_ok=True)
        self.journal.unlink(missing_ok=True)

    def _read_journal(self) -> tuple[Progress, str]:
        there = self._file.tell()
        try:
            found = json.loads(self.journal.read_bytes())
            job, done = found["job"], Progress(**found["done"])
        except FileNotFoundError:
            return Progress(), ""
        except (ValueError, KeyError, TypeError):
            return Progress(), "its journal cannot be read"
        if job != self._job:
            changed = sorted(key for key in {*job, *self._job} if job.get(key) != self._job.get(key))
            return Progress(), f"another {' and '.join(changed)}"
        if there < done.part_bytes:
            return Progress(), "the part file is shorter than its journal says"
        return done, ""


def _lock(file: BinaryIO, path: Path) -> None:
    """Refuse a second process on the same output, which would mix its rows in; Windows refuses it by itself."""
    with _optional_fcntl() as fcntl:
        if fcntl is None:
            return
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise UsageError(f"{path}: another process is writing it: wait for it, or name another output") from error


@contextmanager
def _optional_fcntl() -> Iterator[Any]:
    try:
        import fcntl
    except ImportError:  # Windows
        yield None
    else:
        yield fcntl
