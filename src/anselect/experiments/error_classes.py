"""Why first places are wrong, as read by people, in; out: counts by class, and what another model still gets wrong.

Run as `python -m anselect.experiments.error_classes [--model RUN]`: Markdown on stdout.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from anselect.data.locate import read_split
from anselect.engine.folder import BUNDLED_NAME
from anselect.errors import DataError
from anselect.records import Question
from anselect.selector import load
from anselect.training.module_command import run_command

CLASSES: Final = Path(__file__).with_suffix(".toml")
DATA: Final = ("wikiqa", "trecqa")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """One reason for a wrong first place, and the questions that it holds for."""

    name: str
    meaning: str
    questions: Mapping[str, Sequence[str]]
    """The ids of test questions, by data set."""


def read_classes(path: Path = CLASSES) -> list[ErrorClass]:
    """Read the classes; a question that stands in two of them is an error."""
    known = tomllib.loads(path.read_text(encoding="utf-8"))
    classes = [ErrorClass(name, each["meaning"], {data: each[data] for data in DATA}) for name, each in known.items()]
    for data in DATA:
        ids = [id_ for each in classes for id_ in each.questions[data]]
        twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
        if twice:
            raise DataError(f"expected one class for each question, {data} {', '.join(twice)} has several", path=path)
    return classes


def is_missed(question: Question, scores: Sequence[float]) -> bool:
    """Say whether a wrong candidate stands first; a tie with a wrong one counts as missed."""
    best = max(scores)
    return any(
        candidate.label != 1 for candidate, score in zip(question.candidates, scores, strict=True) if score == best
    )


def missed_questions(data: str, model: str, data_dir: Path | None = None) -> set[str]:
    """Return the ids of the test questions with an answer whose first place a model gets wrong.

    TrecQA comes as text, and without the questions whose candidates are all right.
    """
    known = read_split(data, "test", data_dir=data_dir, detokenize=data == "trecqa")
    useful = [question for question in known if question.has_positive and question.has_negative]
    scores = load(model).score_questions(useful).scores
    return {question.id for question, own in zip(useful, scores, strict=True) if is_missed(question, own)}


def render_classes(classes: Sequence[ErrorClass], missed: Mapping[str, set[str]]) -> str:
    """Return a table: how many questions each class holds, and how many of them are in `missed`."""
    lines = [
        "| class | meaning | WikiQA | still missed | TrecQA clean | still missed |",
        "| --- | --- |" + " ---: |" * 4,
    ]
    for each in classes:
        counts = [f"{len(each.questions[data])} | {len(missed[data] & set(each.questions[data]))}" for data in DATA]
        lines.append(f"| {each.name} | {each.meaning} | {' | '.join(counts)} |")
    read = {data: {id_ for each in classes for id_ in each.questions[data]} for data in DATA}
    totals = [f"{len(read[data])} | {len(missed[data] & read[data])}" for data in DATA]
    lines.append(f"| all that were read | | {' | '.join(totals)} |")
    fresh = [f"| {len(missed[data] - read[data])}" for data in DATA]
    lines.append(f"| not read: missed now, not then | | {' | '.join(fresh)} |")
    return "\n".join(lines)


@app.command()
def main(
    model: Annotated[str, typer.Option(help="The model whose wrong first places are counted.")] = BUNDLED_NAME,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
) -> None:
    """Print how many questions each class holds, and how many of them the model still gets wrong."""
    typer.echo(render_classes(read_classes(), {data: missed_questions(data, model, data_dir) for data in DATA}))


if __name__ == "__main__":
    run_command(app)
