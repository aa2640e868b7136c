"""Entities on disk by (tagger, version, text), so that no text is tagged twice; a cache, so never a reason to fail.

Several processes may share it (`data/cache_file.py`). Texts are not stored, only their hashes and where the entities
stand.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from anselect.data.cache_file import CacheFile, Layout, query_number, select_by_key, transaction
from anselect.data.user_cache import user_cache
from anselect.records import Entity

FILE_NAME: Final = "entities.sqlite3"
DEFAULT_MAX_BYTES: Final = 512 * 1024 * 1024
# Reading marks an entry as used at most once in this time, so that reading hardly ever writes.
TOUCH_AFTER_SECONDS: Final = 24 * 3600
_EVICTED_SHARE: Final = 10
_LAYOUT: Final = Layout(
    "entities",
    1,
    (
        "CREATE TABLE entities (key BLOB PRIMARY KEY, found TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX entities_by_use ON entities (used)",
    ),
)


def default_folder() -> Path:
    """Return where a user's entities are kept: `~/.cache/anselect/entities`, or below `$XDG_CACHE_HOME`."""
    return user_cache("entities")


def cache_key(tagger: str, version: str, text: str) -> bytes:
    """Return the key of a text under one version of one tagger."""
    # Lone surrogates come from broken input and must not break the cache.
    return hashlib.sha256(f"{tagger}\0{version}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


class EntityCache:
    """A bounded store of entities; the least recently used go first when the file reaches `max_bytes`."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.file = CacheFile((folder or default_folder()) / FILE_NAME, _LAYOUT)
        self._max_bytes = max_bytes
        self._clock = clock

    def get(self, keys: Sequence[bytes], texts: Sequence[str]) -> list[tuple[Entity, ...] | None]:
        """Return the stored entities of each text, None where nothing is stored for it."""
        found = self.file.use(lambda connection: self._select(connection, keys)) or {}
        return [_decode(found.get(key), text) for key, text in zip(keys, texts, strict=True)]

    def put(self, entries: Mapping[bytes, tuple[Entity, ...]]) -> None:
        """Store entities in one transaction: all of them or, if the process dies, none."""
        if entries:
            self.file.use(lambda connection: self._insert(connection, entries))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.file.close()

    def __len__(self) -> int:
        return self.file.use(lambda connection: query_number(connection, "SELECT count(*) FROM entities")) or 0

    def _select(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        now = int(self._clock())
        stale: list[tuple[int, bytes]] = []
        for key, value, used in select_by_key(connection, "key, found, used", "entities", keys):
            found[key] = value
            if used < now - TOUCH_AFTER_SECONDS:
                stale.append((now, key))
        if stale:
            with transaction(connection):
                connection.executemany("UPDATE entities SET used = ? WHERE key = ?", stale)
        return found

    def _insert(self, connection: sqlite3.Connection, entries: Mapping[bytes, tuple[Entity, ...]]) -> None:
        now = int(self._clock())
        with transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO entities VALUES (?, ?, ?)",
                [(key, _encode(entities), now) for key, entities in entries.items()],
            )
        if _file_bytes(connection) > self._max_bytes:
            self._evict(connection)

    def _evict(self, connection: sqlite3.Connection) -> None:
        with transaction(connection):
            while _used_bytes(connection) > self._max_bytes:
                count = query_number(connection, "SELECT count(*) FROM entities")
                if not count:
                    break
                oldest = "SELECT key FROM entities ORDER BY used LIMIT ?"
                connection.execute(f"DELETE FROM entities WHERE key IN ({oldest})", (count // _EVICTED_SHARE + 1,))
        # execute() would stop after giving back one page: the statement has rows without columns.
        connection.executescript("PRAGMA incremental_vacuum")


def _file_bytes(connection: sqlite3.Connection) -> int:
    return query_number(connection, "PRAGMA page_count") * query_number(connection, "PRAGMA page_size")


def _used_bytes(connection: sqlite3.Connection) -> int:
    return _file_bytes(connection) - query_number(connection, "PRAGMA freelist_count") * query_number(
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
