"""Every error that Anselect raises on purpose, with the exit code that the command line gives it.

AnselectError                     6  failure while running
├── UsageError                    2  bad arguments: an unknown name, a value out of range
├── MissingExtraError             3  an optional package is not installed; carries the pip line
├── MissingFileError              4  a file, folder, data set or model is not there
├── DataError                     5  a file is there but is not what it should be; carries file:line
│   └── HashMismatchError         5  a file's content is not the published one
├── DownloadError                 6  a download failed; what came so far is kept for the next attempt
└── PartlyDoneError               7  some of the work was done, the rest was not

A message is one line: what was expected, what came, where, what to do.
"""

from __future__ import annotations

from pathlib import Path


class AnselectError(Exception):
    """Anything that went wrong in a way that Anselect can explain."""

    exit_code = 6


class UsageError(AnselectError):
    """The caller asked for something that does not exist or does not fit."""

    exit_code = 2


class MissingExtraError(AnselectError):
    """A capability needs an optional package that is not installed.

    Example: `MissingExtraError("text", "spacy")` → "spacy is not installed: pip install 'anselect[text]'"
    """

    exit_code = 3

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'anselect[{extra}]'")


class MissingFileError(AnselectError):
    """A file, folder, data set or model was not found."""

    exit_code = 4


class DataError(AnselectError):
    """A file's content is not what its format demands.

    Example: `DataError("expected label 0 or 1, got '2'", path=Path("a.tsv"), line=7)` → "a.tsv:7: expected label …"
    """

    exit_code = 5

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


class HashMismatchError(DataError):
    """A file's sha256 differs from the published one."""


class DownloadError(AnselectError):
    """A download could not be finished."""


class PartlyDoneError(AnselectError):
    """Part of the work was done and is kept; the message says what is missing."""

    exit_code = 7
