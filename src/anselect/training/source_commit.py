"""The running source in, the git commit of its checkout out; nothing where it was installed from a package.

Nothing here ever fails: a run must not stop because git is missing, slow or refuses.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import anselect

SOURCE: Final = Path(anselect.__file__).resolve().parent
GIT_SECONDS: Final = 20.0


def describe_source(source: Path = SOURCE) -> dict[str, Any]:
    """Return `commit`, and `commit_has_changes` if files of the package differ from it; empty outside a checkout.

    A package installed into an environment that lies inside somebody's repository is no checkout of that repository.
    """
    top = _git(source, "rev-parse", "--show-toplevel")
    if not top or Path(top) / "src" / "anselect" != source or not _git(source, "ls-files", "--", "__init__.py"):
        return {}
    commit = _git(source, "rev-parse", "HEAD")
    changes = _git(source, "status", "--porcelain", "--", ".")
    if not commit or changes is None:
        return {}
    return {"commit": commit, "commit_has_changes": True} if changes else {"commit": commit}


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says; None if it cannot be asked or answers with an error."""
    # A hook or an editor that started us may point git at another repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Without optional locks, looking cannot get in the way of a commit made at the same time.
    command = ["git", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False, timeout=GIT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
