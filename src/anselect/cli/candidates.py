"""A question and its candidates on the command line: the arguments that `rank` and `explain` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from anselect.data.files import read_lines

QuestionArgument = Annotated[str, typer.Argument(help="The question.")]
CandidatesArgument = Annotated[list[str] | None, typer.Argument(help="Candidate answers.", metavar="[CANDIDATE]...")]
CandidatesFile = Annotated[
    Path | None,
    typer.Option("--candidates", help="A file with one candidate a line; - for stdin.", metavar="FILE|-"),
]


def gather_candidates(candidates: Sequence[str] | None, file: Path | None) -> list[str]:
    """Return the candidates given as arguments, then those of the file; its blank lines are passed over."""
    lines = [line for _, line in read_lines(file) if line.strip()] if file is not None else []
    return [*(candidates or ()), *lines]
