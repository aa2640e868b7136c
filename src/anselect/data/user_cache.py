"""Where Anselect keeps what it can get or compute again: downloads, entities, features, unpacked encoders."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def user_cache(name: str) -> Path:
    """Return the folder for one kind of thing in this user's cache; it may not exist yet."""
    return cache_folder(sys.platform, os.environ, Path.home()) / name


def cache_folder(platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """Return a user's cache folder as the platform's convention has it.

    >>> cache_folder("linux", {"XDG_CACHE_HOME": "/var/cache/me"}, Path("/home/me")).as_posix()
    '/var/cache/me/anselect'
    """
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "anselect" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "anselect"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "anselect"
