"""Entities on disk by (tagger, version, text), so that no text is tagged twice; a cache, so never a reason to fail.

One SQLite file with a write-ahead log: several processes may share it, and a killed one leaves it whole. Texts are not
stored, only their hashes and where the entities stand.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from anselect.data.user_cache import user_cache
from anselect.records import Entity

logger = logging.getLogger(__name__)

FILE_NAME: Final = "entities.sqlite3"
DEFAULT_MAX_BYTES: Final = 512 * 1024 * 1024
# Written into the file; raise it when the meaning of keys or values changes, and old files are emptied.
LAYOUT_VERSION: Final = 1
BUSY_SECONDS: Final = 30.0
# Reading marks an entry as used at most once in this time, so that reading hardly ever writes.
TOUCH_AFTER_SECONDS: Final = 24 * 3600
# SQLite takes up to 32,766 parameters; more than a few hundred at once is not faster.
_KEYS_PER_QUERY: Final = 500
_EVICTED_SHARE: Final = 10

_SCHEMA: Final = (
    "CREATE TABLE entities (key BLOB PRIMARY KEY, found TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX entities_by_use ON entities (used)",
)


T = TypeVar("T")


def default_folder() -> Path:
    """Return where a user's entities are kept: `~/.cache/anselect/entities`, or below `$XDG_CACHE_HOME`."""
    return user_cache("entities")


def cache_key(tagger: str, version: str, text: str) -> bytes:
    """Return the key of a text under one version of one tagger."""
    # Lone surrogates come from broken input and must not break the cache.
    return hashlib.sha256(f"{tagger}\0{version}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


class EntityCache:
    """A bounded store of entities; the least recently used go first when the file reaches `max_bytes`.

    Where the folder cannot be written nothing is kept, with a note. A damaged file is moved aside, with a note.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.path = (folder or default_folder()) / FILE_NAME
        self._max_bytes = max_bytes
        self._clock = clock
        self._owner = 0
        self._file_id: FileId | None = None
        self._inherited: list[sqlite3.Connection] = []
        self._is_off = False

    def get(self, keys: Sequence[bytes], texts: Sequence[str]) -> list[tuple[Entity, ...] | None]:
        """Return the stored entities of each text, None where nothing is stored for it."""
        found = self._guarded(lambda connection: self._select(connection, keys)) or {}
        return [_decode(found.get(key), text) for key, text in zip(keys, texts, strict=True)]

    def put(self, entries: Mapping[bytes, tuple[Entity, ...]]) -> None:
        """Store entities in one transaction: all of them or, if the process dies, none."""
        if entries:
            self._guarded(lambda connection: self._insert(connection, entries))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
                self._connection = None

    def __len__(self) -> int:
        return self._guarded(lambda connection: _number(connection, "SELECT count(*) FROM entities")) or 0

    def _guarded(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        """Use the file; what is wrong with it costs the cached entities, never the caller's work."""
        with self._lock:
            for _ in range(2):
                if self._is_off:
                    return None
                try:
                    return use(self._open())
                except (sqlite3.OperationalError, OSError) as error:
                    # Read-only, no space left, locked for BUSY_SECONDS: will not get better while we run.
                    self._is_off = True
                    logger.warning("%s: entities are not cached (%s); they are found anew", self.path, error)
                except sqlite3.DatabaseError as error:
                    self._move_aside(error)
        return None

    def _open(self) -> sqlite3.Connection:
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
            _prepare(self._connection)
            self._file_id = _file_id(self.path)
        return self._connection

    def _move_aside(self, error: sqlite3.DatabaseError) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        # Another process may have moved it and begun a new file already: that one is left alone.
        if self._file_id is not None and _file_id(self.path) == self._file_id:
            aside = self.path.with_name(f"{FILE_NAME}.damaged-{int(self._clock())}")
            for suffix in ("-wal", "-shm"):
                self.path.with_name(FILE_NAME + suffix).unlink(missing_ok=True)
            self.path.replace(aside)
            logger.warning("%s: damaged (%s), moved to %s; entities are found anew", self.path, error, aside.name)

    def _select(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, object]:
        found: dict[bytes, object] = {}
        now = int(self._clock())
        stale: list[tuple[int, bytes]] = []
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            part = keys[start : start + _KEYS_PER_QUERY]
            wanted = ",".join("?" * len(part))
            for key, value, used in connection.execute(
                f"SELECT key, found, used FROM entities WHERE key IN ({wanted})", part
            ):
                found[key] = value
                if used < now - TOUCH_AFTER_SECONDS:
                    stale.append((now, key))
        if stale:
            with _transaction(connection):
                connection.executemany("UPDATE entities SET used = ? WHERE key = ?", stale)
        return found

    def _insert(self, connection: sqlite3.Connection, entries: Mapping[bytes, tuple[Entity, ...]]) -> None:
        now = int(self._clock())
        with _transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO entities VALUES (?, ?, ?)",
                [(key, _encode(entities), now) for key, entities in entries.items()],
            )
        if _file_bytes(connection) > self._max_bytes:
            self._evict(connection)

    def _evict(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            while _used_bytes(connection) > self._max_bytes:
                count = _number(connection, "SELECT count(*) FROM entities")
                if not count:
                    break
                oldest = "SELECT key FROM entities ORDER BY used LIMIT ?"
                connection.execute(f"DELETE FROM entities WHERE key IN ({oldest})", (count // _EVICTED_SHARE + 1,))
        # execute() would stop after giving back one page: the statement has rows without columns.
        connection.executescript("PRAGMA incremental_vacuum")


FileId = tuple[int, int]


def _file_id(path: Path) -> FileId | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _prepare(connection: sqlite3.Connection) -> None:
    """Bring the file into our layout; one of another layout is emptied, since it only holds what can be found anew."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _keep_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if _number(connection, "PRAGMA user_version") != LAYOUT_VERSION:
        with _transaction(connection):
            # Asked again now that nobody else may write: another process may just have laid it out and filled it.
            if _number(connection, "PRAGMA user_version") != LAYOUT_VERSION:
                connection.execute("DROP TABLE IF EXISTS entities")
                for statement in _SCHEMA:
                    connection.execute(statement)
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
    """Take the right to write at once: waiting for it later, after reading, is what SQLite refuses."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _file_bytes(connection: sqlite3.Connection) -> int:
    return _number(connection, "PRAGMA page_count") * _number(connection, "PRAGMA page_size")


def _used_bytes(connection: sqlite3.Connection) -> int:
    return _file_bytes(connection) - _number(connection, "PRAGMA freelist_count") * _number(
        connection, "PRAGMA page_size"
    )


def _encode(entities: Sequence[Entity]) -> str:
    flat = [part for entity in entities for part in (entity.label, entity.start, entity.end)]
    return json.dumps(flat, separators=(",", ":"))


def _decode(value: object, text: str) -> tuple[Entity, ...] | None:
    """Read a stored value; None for one that is missing or makes no sense for this text."""
    if value is None:
        return None
    try:
        flat = json.loads(str(value))
        parts = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        entities = tuple(Entity(text[start:end], label, start, end) for label, start, end in parts)
    except (ValueError, TypeError):
        return None
    is_sound = all(0 <= entity.start < entity.end <= len(text) for entity in entities)
    return entities if is_sound else None
