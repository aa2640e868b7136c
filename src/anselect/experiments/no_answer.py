"""Models in, a table and a picture out: how well a best score tells that none of the candidates answers a question.

Run as `python -m anselect.experiments.no_answer [--model RUN]… [--picture FILE]`: WikiQA, of whose 633 test questions
390 have no answer. The least score is chosen on dev, everything else is measured on test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from anselect.data.locate import read_split
from anselect.engine.folder import BUNDLED_NAME
from anselect.evaluation.calibration import Abstention
from anselect.experiments.figures.curves import draw_risk_coverage
from anselect.experiments.figures.run_data import ScoredSplit, abstention_of
from anselect.experiments.figures.style import save_figure
from anselect.selector import AnswerSelector, load
from anselect.training.module_command import run_command

DATA: Final = "wikiqa"
COLUMNS: Final = (
    "model",
    "AUROC",
    "risk area",
    "least score",
    "answered",
    "right among these",
    "no answer, recognised",
    "right decisions",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@dataclass(frozen=True, slots=True)
class Decisions:
    """What comes of answering only where the best score reaches `least`."""

    least: float
    answered: float
    """Share of all questions."""
    right: float
    """Share of the answered ones whose first candidate is correct."""
    recognised: float
    """Share of the questions without an answer that were left unanswered."""
    good: float
    """Share of all questions: answered rightly, or rightly left unanswered."""


def decide(scored: ScoredSplit, least: float) -> Decisions:
    """Answer the questions whose best score reaches `least`, and count."""
    best, right = map(np.array, zip(*scored.first_places(), strict=True))
    chosen = best >= least
    empty = np.array([not question.has_positive for question in scored.questions])
    return Decisions(
        least=least,
        answered=float(chosen.mean()),
        right=float(right[chosen].mean()) if chosen.any() else 0.0,
        recognised=float((~chosen)[empty].mean()) if empty.any() else 0.0,
        good=float(np.where(chosen, right, empty).mean()),
    )


def choose_least(scored: ScoredSplit) -> float:
    """Return the least score with the most good decisions; the lowest of several."""
    tried = sorted({max(own) for own in scored.scores})
    return max(tried, key=lambda least: (decide(scored, least).good, -least))


def render(models: Mapping[str, tuple[Abstention, Decisions]]) -> str:
    """Return a Markdown table, a row for each model."""
    lines = [f"| {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
    for name, (found, made) in models.items():
        values = (found.auroc, found.risk_area, made.least, made.answered, made.right, made.recognised, made.good)
        lines.append(f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |")
    return "\n".join(lines)


def _scored(selector: AnswerSelector, split: str, data_dir: Path | None) -> ScoredSplit:
    questions = [question for question in read_split(DATA, split, data_dir=data_dir) if question.candidates]
    return ScoredSplit(questions, [list(own) for own in selector.score_questions(questions).scores])


@app.command()
def main(
    model: Annotated[Sequence[str] | None, typer.Option(help="A model; may be repeated.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw risk and coverage here (PNG or SVG).")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
) -> None:
    """Measure the decision that nothing answers a question."""
    found: dict[str, tuple[Abstention, Decisions]] = {}
    for name in model or [BUNDLED_NAME]:
        selector = load(name)
        least = choose_least(_scored(selector, "dev", data_dir))
        test = _scored(selector, "test", data_dir)
        found[name] = abstention_of(test), decide(test, least)
    typer.echo(render(found))
    if picture is not None:
        save_figure(draw_risk_coverage({name: measured for name, (measured, _) in found.items()}), picture)


if __name__ == "__main__":
    run_command(app)
