"""The cache of the Hugging Face Hub as a download leaves it, filled from a folder of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put_into_cache(cache: Path, name: str, folder: Path) -> None:
    """Lay a folder's files out as a download does: blobs, links to them in a snapshot, and the branch's commit."""
    store = cache / f"models--{name.replace('/', '--')}"
    (store / "refs").mkdir(parents=True)
    (store / "refs" / "main").write_text(COMMIT)
    (store / "blobs").mkdir()
    (store / "snapshots" / COMMIT).mkdir(parents=True)
    for number, path in enumerate(sorted(folder.iterdir())):
        shutil.copy(path, store / "blobs" / str(number))
        (store / "snapshots" / COMMIT / path.name).symlink_to(f"../../blobs/{number}")
