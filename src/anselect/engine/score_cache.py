"""Logits by (model, options, question, candidate), in memory and on disk, so that no pair is scored twice.

A cache, so never a reason to fail: what is wrong with its file costs the cached logits, not the caller's work. One
SQLite file with a write-ahead log: several processes may share it. Texts are not stored, only their hashes.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

logger = logging.getLogger(__name__)

FILE_NAME: Final = "scores.sqlite3"
DEFAULT_ENTRIES: Final = 100_000
DEFAULT_DISK_ENTRIES: Final = 5_000_000
"""At about 60 bytes each."""
# Written into the file; raise it when the meaning of keys or values changes, and old files are emptied.
LAYOUT_VERSION: Final = 1
BUSY_SECONDS: Final = 30.0
_KEYS_PER_QUERY: Final = 500
_EVICTED_SHARE: Final = 10
_SCHEMA: Final = (
    "CREATE TABLE scores (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, logit REAL, is_cut INTEGER)"
)

Kept = tuple[float, bool]
"""A pair's logit, and whether something of the pair was cut."""
T = TypeVar("T")


def score_key(model: str, question: str, candidate: str) -> bytes:
    """Return the key of a pair under one model with its options."""
    # The length tells where the question ends, whatever characters both hold; lone surrogates must not break it.
    text = f"{model}\0{len(question)}\0{question}{candidate}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class ScoreCache:
    """A bounded store of logits: the last used in memory and, with a folder, the last written on disk."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        max_entries: int = DEFAULT_ENTRIES,
        max_disk_entries: int = DEFAULT_DISK_ENTRIES,
    ) -> None:
        self._memory: OrderedDict[bytes, Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._max_entries = max_entries
        self._file = None if folder is None else _ScoreFile(folder / FILE_NAME, max_disk_entries)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """Return what is known of the given keys."""
        with self._lock:
            found = {key: self._memory[key] for key in keys if key in self._memory}
            for key in found:
                self._memory.move_to_end(key)
        missing = [key for key in keys if key not in found]
        if self._file is not None and missing:
            stored = self._file.get(missing)
            self._remember(stored)
            found |= stored
        return found

    def put(self, entries: Mapping[bytes, Kept]) -> None:
        """Store logits; on disk in one transaction."""
        self._remember(entries)
        if self._file is not None and entries:
            self._file.put(entries)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        """Return how many logits are kept in memory."""
        return len(self._memory)

    def _remember(self, entries: Mapping[bytes, Kept]) -> None:
        with self._lock:
            self._memory.update(entries)
            while len(self._memory) > self._max_entries:
                self._memory.popitem(last=False)


class _ScoreFile:
    """The part on disk; the first written go first when it is full."""

    def __init__(self, path: Path, max_entries: int) -> None:
        self._path = path
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._inherited: list[sqlite3.Connection] = []
        self._is_off = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        return self._guarded(lambda connection: _select(connection, keys)) or {}

    def put(self, entries: Mapping[bytes, Kept]) -> None:
        self._guarded(lambda connection: self._insert(connection, entries))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _guarded(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        with self._lock:
            for _ in range(2):
                if self._is_off:
                    return None
                try:
                    return use(self._open())
                except (sqlite3.OperationalError, OSError) as error:
                    # Read-only, no space left, locked for BUSY_SECONDS: will not get better while we run.
                    self._is_off = True
                    logger.warning("%s: scores are not cached on disk (%s)", self._path, error)
                except sqlite3.DatabaseError as error:
                    self._move_aside(error)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._owner != os.getpid():
            # After a fork the parent's connection must be neither used nor closed here.
            self._inherited.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._owner = os.getpid()
            _prepare(self._connection)
        return self._connection

    def _move_aside(self, error: sqlite3.DatabaseError) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        aside = self._path.with_name(f"{FILE_NAME}.damaged-{time.time_ns()}")
        for suffix in ("-wal", "-shm"):
            self._path.with_name(FILE_NAME + suffix).unlink(missing_ok=True)
        if self._path.exists():
            self._path.replace(aside)
        logger.warning("%s: damaged (%s), moved to %s; scores are computed anew", self._path, error, aside.name)

    def _insert(self, connection: sqlite3.Connection, entries: Mapping[bytes, Kept]) -> None:
        with _transaction(connection):
            connection.executemany(
                "INSERT OR IGNORE INTO scores (key, logit, is_cut) VALUES (?, ?, ?)",
                [(key, logit, int(is_cut)) for key, (logit, is_cut) in entries.items()],
            )
            count = _number(connection, "SELECT count(*) FROM scores")
            if count > self._max_entries:
                gone = count - self._max_entries + self._max_entries // _EVICTED_SHARE
                oldest = "SELECT number FROM scores ORDER BY number LIMIT ?"
                connection.execute(f"DELETE FROM scores WHERE number IN ({oldest})", (gone,))


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Kept]:
    found: dict[bytes, Kept] = {}
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        part = keys[start : start + _KEYS_PER_QUERY]
        wanted = ",".join("?" * len(part))
        for key, logit, is_cut in connection.execute(
            f"SELECT key, logit, is_cut FROM scores WHERE key IN ({wanted})", part
        ):
            if isinstance(logit, float):
                found[key] = (logit, bool(is_cut))
    return found


def _prepare(connection: sqlite3.Connection) -> None:
    """Bring the file into our layout; one of another layout is emptied."""
    _keep_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if _number(connection, "PRAGMA user_version") != LAYOUT_VERSION:
        with _transaction(connection):
            # Asked again now that nobody else may write: another process may just have laid it out and filled it.
            if _number(connection, "PRAGMA user_version") != LAYOUT_VERSION:
                connection.execute("DROP TABLE IF EXISTS scores")
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")


def _keep_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Change to the write-ahead log; SQLite does not wait for others in this one statement, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])
