"""Logits by (model, options, question, candidate), in memory and on disk, so that no pair is scored twice.

Texts are not stored, only their hashes. A cache, so never a reason to fail (`data/cache_file.py`).
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anselect.data.cache_file import CacheFile, Layout, query_number, select_by_key, transaction

FILE_NAME: Final = "scores.sqlite3"
DEFAULT_ENTRIES: Final = 100_000
DEFAULT_DISK_ENTRIES: Final = 5_000_000
"""At about 60 bytes each."""
_EVICTED_SHARE: Final = 10
_LAYOUT: Final = Layout(
    "scores",
    1,
    ("CREATE TABLE scores (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, logit REAL, is_cut INTEGER)",),
)

Kept = tuple[float, bool]
"""A pair's logit, and whether something of the pair was cut."""


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
        self._file = CacheFile(path, _LAYOUT)
        self._max_entries = max_entries

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        return self._file.use(lambda connection: _select(connection, keys)) or {}

    def put(self, entries: Mapping[bytes, Kept]) -> None:
        self._file.use(lambda connection: self._insert(connection, entries))

    def close(self) -> None:
        self._file.close()

    def _insert(self, connection: sqlite3.Connection, entries: Mapping[bytes, Kept]) -> None:
        with transaction(connection):
            connection.executemany(
                "INSERT OR IGNORE INTO scores (key, logit, is_cut) VALUES (?, ?, ?)",
                [(key, logit, int(is_cut)) for key, (logit, is_cut) in entries.items()],
            )
            count = query_number(connection, "SELECT count(*) FROM scores")
            if count > self._max_entries:
                gone = count - self._max_entries + self._max_entries // _EVICTED_SHARE
                oldest = "SELECT number FROM scores ORDER BY number LIMIT ?"
                connection.execute(f"DELETE FROM scores WHERE number IN ({oldest})", (gone,))


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Kept]:
    rows = select_by_key(connection, "key, logit, is_cut", "scores", keys)
    return {bytes(key): (logit, bool(cut)) for key, logit, cut in rows if isinstance(logit, float)}
