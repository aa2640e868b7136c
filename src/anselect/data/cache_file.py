"""One SQLite file that several processes share as a cache: actions on it come in, what they found goes out, or nothing.

A cache is never a reason to fail: what is wrong with its file costs what it held, not the caller's work. A write-ahead
log lets many read while one writes, and a killed process leaves the file whole.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

logger = logging.getLogger(__name__)

BUSY_SECONDS: Final = 30.0
# SQLite takes up to 32,766 parameters; more than a few hundred at once is not faster.
KEYS_PER_QUERY: Final = 500

T = TypeVar("T")
_FileId = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the file holds."""

    table: str
    """Also what the entries are called in warnings."""
    version: int
    """Written into the file; raise it when the meaning of keys or values changes, and old files are emptied."""
    statements: tuple[str, ...]
    """They make the table and its indexes."""


class CacheFile:
    """A cache's file. Where it cannot be written nothing is kept, with a note; a damaged one is moved aside, likewise.

    Safe for threads, for processes at the same time, and across a fork.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path = path
        self._layout = layout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._file_id: _FileId | None = None
        self._inherited: list[sqlite3.Connection] = []
        self._is_off = False

    def use(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Let an action work on the file; None where the file is of no use."""
        with self._lock:
            for _ in range(2):
                if self._is_off:
                    return None
                try:
                    return action(self.open())
                except (sqlite3.OperationalError, OSError) as error:
                    # Read-only, no space left, locked for BUSY_SECONDS: will not get better while we run.
                    self._is_off = True
                    logger.warning(
                        "%s: %s are not cached (%s); they are found anew", self.path, self._layout.table, error
                    )
                except sqlite3.DatabaseError as error:
                    self._move_aside(error)
        return None

    def open(self) -> sqlite3.Connection:
        """Return this process's connection."""
        if self._connection is not None and self._owner != os.getpid():
            # After a fork the parent's connection must be neither used nor closed here.
            self._inherited.append(self._connection)
            self._connection = None
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file_id = _file_id(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._owner = os.getpid()
            _prepare(self._connection, self._layout)
            self._file_id = _file_id(self.path)
        return self._connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def _move_aside(self, error: sqlite3.DatabaseError) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        # Another process may have moved it and begun a new file already: that one is left alone.
        if self._file_id is not None and _file_id(self.path) == self._file_id:
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self.path.replace(aside)
            what = self._layout.table
            logger.warning("%s: damaged (%s), moved to %s; %s are found anew", self.path, error, aside.name, what)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Take the right to write at once: waiting for it later, after reading, is what SQLite refuses."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def select_by_key(
    connection: sqlite3.Connection, columns: str, table: str, keys: Sequence[bytes]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the given keys, in no order."""
    for start in range(0, len(keys), KEYS_PER_QUERY):
        part = keys[start : start + KEYS_PER_QUERY]
        wanted = ",".join("?" * len(part))
        yield from connection.execute(f"SELECT {columns} FROM {table} WHERE key IN ({wanted})", part)


def query_number(connection: sqlite3.Connection, query: str) -> int:
    """Return the one number that a query gives."""
    return int(connection.execute(query).fetchone()[0])


def _file_id(path: Path) -> _FileId | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _prepare(connection: sqlite3.Connection, layout: Layout) -> None:
    """Bring the file into our layout; one of another layout is emptied, since it only holds what can be found anew."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _keep_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if query_number(connection, "PRAGMA user_version") != layout.version:
        with transaction(connection):
            # Asked again now that nobody else may write: another process may just have laid it out and filled it.
            if query_number(connection, "PRAGMA user_version") != layout.version:
                connection.execute(f"DROP TABLE IF EXISTS {layout.table}")
                for statement in layout.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {layout.version}")


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
