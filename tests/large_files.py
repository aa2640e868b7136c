"""Fails when a file that is about to be committed is over 1 MB; bundled models are the only exception."""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT_BYTES = 1_000_000


def large_files(names: list[str]) -> list[Path]:
    """Return the files over the limit outside `bundled` folders."""
    paths = [Path(name) for name in names if "bundled" not in Path(name).parts]
    return [path for path in paths if path.is_file() and path.stat().st_size > LIMIT_BYTES]


if __name__ == "__main__":
    found = large_files(sys.argv[1:])
    sys.exit("\n".join(f"{path}: {path.stat().st_size:,} bytes, at most {LIMIT_BYTES:,}" for path in found) or 0)
