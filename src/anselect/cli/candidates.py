"""A question, its candidates and a model on the command line: what `rank` and `explain` share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.output import print_note
from anselect.data.files import read_lines
from anselect.records import Ranking

QuestionArgument = Annotated[str, typer.Argument(help="The question.")]
CandidatesArgument = Annotated[list[str] | None, typer.Argument(help="Candidate answers.", metavar="[CANDIDATE]...")]
CandidatesFile = Annotated[
    Path | None,
    typer.Option("--candidates", help="A file with one candidate a line; - for stdin.", metavar="FILE|-"),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="A run's or model's folder, or a Hugging Face Hub id; by default the bundled model.",
        metavar="RUN|FOLDER|HUB_ID",
    ),
]


class LongCandidates(StrEnum):
    """What happens to a candidate that is longer than the model reads."""

    cut = "cut"
    windows = "windows"


LongOption = Annotated[
    LongCandidates,
    typer.Option(help="Cut a candidate that is too long, or read it in windows, of which the best counts."),
]


def gather_candidates(candidates: Sequence[str] | None, file: Path | None) -> list[str]:
    """Return the candidates given as arguments, then those of the file; its blank lines are passed over."""
    lines = [line for _, line in read_lines(file) if line.strip()] if file is not None else []
    return [*(candidates or ()), *lines]


def note_cut_candidates(ranking: Ranking) -> None:
    """Tell on stderr how many candidates the model read only in part; say nothing where it read all."""
    if ranking.cut_candidates:
        what = "1 candidate" if ranking.cut_candidates == 1 else f"{ranking.cut_candidates} candidates"
        limit = "" if ranking.max_tokens is None else f" of {ranking.max_tokens} tokens"
        print_note(f"{what} cut to the model's limit{limit}")
