"""`anselect doctor`: what is installed, which extras are missing, which data is here, does ranking work."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from typing import Annotated

import typer

import anselect
from anselect.cli.output import OutputFormat, print_rows
from anselect.errors import AnselectError, PartlyDoneError

EXTRAS = ("ask", "text", "train", "serve", "scale")
TEST_QUESTION = "Who invented the telephone?"
TEST_CANDIDATES = ("The telephone rings.", "Alexander Graham Bell invented the telephone.", "It was raining.")


def doctor(
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Check this installation: Python, packages, extras, and a first ranking.

    \b
    Exits 0 when ranking works, 7 when it does not; missing extras are only listed.
    """
    ranking = _try_ranking()
    rows = [
        {"check": "python", "state": "ok", "detail": platform.python_version()},
        {"check": "anselect", "state": "ok", "detail": anselect.__version__},
        *[_describe_requirements("core", None)],
        *[_describe_requirements(f"extra {extra}", extra) for extra in EXTRAS],
        ranking,
    ]
    print_rows(rows, ["check", "state", "detail"], output_format)
    if ranking["state"] != "ok":
        raise PartlyDoneError(f"ranking does not work: {ranking['detail']}")


def _describe_requirements(check: str, extra: str | None) -> dict[str, str]:
    found, missing = [], []
    for name in _required_packages(extra):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        advice = f"pip install 'anselect[{extra}]'" if extra else "pip install anselect"
        return {"check": check, "state": "missing", "detail": f"{', '.join(missing)}: {advice}"}
    return {"check": check, "state": "ok", "detail": ", ".join(found)}


def _required_packages(extra: str | None) -> list[str]:
    """Read the package names from our own metadata, so that this list cannot go stale."""
    names = []
    for requirement in importlib.metadata.requires("anselect") or []:
        name = re.match(r"[\w.-]+", requirement)
        marker = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if name and (marker.group(1) if marker else None) == extra:
            names.append(name.group())
    return names


def _try_ranking() -> dict[str, str]:
    try:
        selector = anselect.load()
        best = selector.rank(TEST_QUESTION, TEST_CANDIDATES)[0]
    except AnselectError as error:
        return {"check": "ranking", "state": "missing", "detail": str(error)}
    state = "ok" if best.index == 1 else "wrong"
    return {"check": "ranking", "state": state, "detail": selector.description}
