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
    QuestionArgument,
    gather_candidates,
)
from anselect.cli.explain_model import Wishes, ask_model
from anselect.cli.output import print_note
from anselect.data.files import write_text
from anselect.text.entities import load_tagger
from anselect.text.explain import Explanation
from anselect.text.explain import explain as explain_texts
from anselect.text.explain_evidence import Method
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
    model: Annotated[
        str | None,
        typer.Option(
            help="A run's or model's folder, a Hugging Face Hub id, or bundled; without it nothing is scored.",
            metavar="RUN|FOLDER|HUB_ID",
        ),
    ] = None,
    output_format: Annotated[ExplainFormat, typer.Option("--format", help="How to show it.")] = ExplainFormat.table,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.", metavar="FILE")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="spaCy pipeline, by name or folder.", metavar="NAME", show_default="first installed"),
    ] = None,
    way: Annotated[
        Way, typer.Option(help="How to highlight matching entities; a --model has its own way.")
    ] = Way.REPLACE,
    evidence: Annotated[
        Method | None, typer.Option(help="Show which words raise or lower the model's score, by this method.")
    ] = None,
    heatmap: Annotated[
        Path | None,
        typer.Option(help="Draw how the words of question and candidates compare.", metavar="FILE.png|FILE.svg"),
    ] = None,
) -> None:
    """Show the answer type that a question expects and the entities of each candidate, the matching ones bold.

    With --model also the score and the rank that it gives each candidate, and the text that it reads; with --evidence
    what each word does to the score, and why the best candidate is scored above the next.

    \b
    Examples:
      anselect explain "Who invented the telephone?"
      anselect explain "Who invented the telephone?" "Bell did, in 1876." "It rings."
      anselect explain "Who invented the telephone?" --candidates sentences.txt --format html --output bell.html
      anselect explain "Who invented the telephone?" "Bell did, in 1876." "It rings." --model runs/my-run
      anselect explain "Who invented the telephone?" "Bell did." "It rings." --model runs/my-run --evidence occlusion
    """
    texts = gather_candidates(candidates, candidates_file)
    wishes = Wishes(model, evidence, heatmap)
    wishes.check(texts)
    explanation = explain_texts(question, texts, tagger=load_tagger(pipeline) if texts else None, way=way)
    explanation = ask_model(explanation, texts, wishes)
    if output is None:
        _print(explanation, output_format)
    else:
        with write_text(output) as file:
            file.write(_render(explanation, output_format))
        print_note(f"wrote {output}")


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
