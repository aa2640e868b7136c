"""`anselect explain`: what a question asks for, and where its candidates have such a thing."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.candidates import (
    CandidatesArgument,
    CandidatesFile,
    ModelOption,
    QuestionArgument,
    gather_candidates,
    note_cut_candidates,
)
from anselect.cli.output import print_note
from anselect.data.files import write_text
from anselect.errors import UsageError
from anselect.selector import load
from anselect.text.entities import load_tagger
from anselect.text.explain import Explanation, add_ranking
from anselect.text.explain import explain as explain_texts
from anselect.text.highlight import Way


class ExplainFormat(StrEnum):
    """How an explanation is shown."""

    table = "table"
    json = "json"
    html = "html"


def explain(
    question: QuestionArgument,
    candidates: CandidatesArgument = None,
    candidates_file: CandidatesFile = None,
    model: ModelOption = None,
    output_format: Annotated[ExplainFormat, typer.Option("--format", help="How to show it.")] = ExplainFormat.table,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.", metavar="FILE")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="spaCy pipeline, by name or folder.", metavar="NAME", show_default="first installed"),
    ] = None,
    way: Annotated[Way, typer.Option(help="How matching entities are shown to a model.")] = Way.REPLACE,
) -> None:
    """Show the answer type that a question expects and the entities of each candidate, the matching ones bold.

    With --model also the score and the rank that the model gives each candidate.

    \b
    Examples:
      anselect explain "Who invented the telephone?"
      anselect explain "Who invented the telephone?" "Bell did, in 1876." "It rings."
      anselect explain "Who invented the telephone?" --candidates sentences.txt --format html --output bell.html
      anselect explain "Who invented the telephone?" "Bell did, in 1876." "It rings." --model runs/my-run
    """
    texts = gather_candidates(candidates, candidates_file)
    explanation = explain_texts(question, texts, tagger=load_tagger(pipeline) if texts else None, way=way)
    if model is not None:
        explanation = _with_scores(explanation, texts, model)
    if output is None:
        _print(explanation, output_format)
    else:
        with write_text(output) as file:
            file.write(_render(explanation, output_format))
        print_note(f"wrote {output}")


def _with_scores(explanation: Explanation, texts: list[str], model: str) -> Explanation:
    if not texts:
        raise UsageError("expected candidates for --model to score, got none: give them after the question")
    selector = load(model)
    ranking = selector.rank(explanation.question, texts)
    note_cut_candidates(ranking)
    return add_ranking(explanation, ranking, model=selector.description)


def _print(explanation: Explanation, output_format: ExplainFormat) -> None:
    if output_format is ExplainFormat.table:
        from anselect.cli.explain_terminal import print_explanation

        print_explanation(explanation)
    else:
        typer.echo(_render(explanation, output_format), nl=False)


def _render(explanation: Explanation, output_format: ExplainFormat) -> str:
    from anselect.cli.explain_html import render_html
    from anselect.cli.explain_terminal import render_text

    if output_format is ExplainFormat.json:
        return json.dumps(explanation.as_dict(), ensure_ascii=False, indent=2) + "\n"
    return render_html(explanation) if output_format is ExplainFormat.html else render_text(explanation)
