"""`anselect rank`: order candidate answers to one question."""

from __future__ import annotations

from typing import Annotated

import typer

from anselect.cli.candidates import (
    CandidatesArgument,
    CandidatesFile,
    LongCandidates,
    LongOption,
    ModelOption,
    QuestionArgument,
    gather_candidates,
    note_cut_candidates,
)
from anselect.cli.output import OutputFormat, print_note, print_rows
from anselect.errors import UsageError
from anselect.selector import load


def rank(
    question: QuestionArgument,
    candidates: CandidatesArgument = None,
    candidates_file: CandidatesFile = None,
    model: ModelOption = None,
    long: LongOption = LongCandidates.cut,
    top_k: Annotated[int | None, typer.Option(min=1, help="Show only the best K.")] = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out candidates that score less; maybe all of them.")
    ] = None,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Rank candidate answers to one question, best first.

    \b
    Examples:
      anselect rank "Who invented the telephone?" "It rings." "Bell invented the telephone in 1876."
      anselect rank "Who invented the telephone?" --candidates sentences.txt --top-k 3 --format json
      anselect rank "Who invented the telephone?" --candidates sentences.txt --model cross-encoder/ms-marco-MiniLM-L6-v2
    """
    texts = gather_candidates(candidates, candidates_file)
    if not texts:
        raise UsageError("expected candidates, got none: give them after the question or with --candidates FILE")
    selector = load(model, long=long.value)
    print_note(f"ranked by the {selector.description}")
    ranking = selector.rank(question, texts, top_k=top_k)
    note_cut_candidates(ranking)
    rows = [
        {"rank": place, "score": found.score, "index": found.index, "text": found.text}
        for place, found in enumerate(ranking, start=1)
        if min_score is None or found.score >= min_score
    ]
    if not rows:
        print_note(f"no candidate scores {min_score} or more: none of these answers the question")
    print_rows(rows, ["rank", "score", "index", "text"], output_format)
