"""Build the model that the package ships: `python -m anselect.experiments.bundled_model --help`.

Comes in: the data sets and a public encoder. Goes out: the engine folder with model card, figures and diagram.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from anselect.data.files import copy_folder, file_sha256, write_text
from anselect.data.reading import read_questions
from anselect.engine.folder import BUNDLED, MODEL, read_manifest
from anselect.evaluation.calibration import Bin
from anselect.experiments.figures.scores import draw_calibration
from anselect.experiments.figures.style import save_figure
from anselect.training.bundled.advice import ADVICE
from anselect.training.bundled.advice import keep_advice as write_advice
from anselect.training.bundled.card import write_card
from anselect.training.bundled.data import Build, write_stage
from anselect.training.bundled.exit_limit import RECORD as EXIT_RECORD
from anselect.training.bundled.exit_limit import choose_exit
from anselect.training.bundled.finish import finish_model
from anselect.training.bundled.leave_out import RECORD, leave_each_out
from anselect.training.bundled.mean_model import LESSON_COST, LESSON_SHARES, TAUGHT_SHARES, choose_mean
from anselect.training.bundled.mean_model import RECORD as MEAN_RECORD
from anselect.training.bundled.measure import dev_sets
from anselect.training.bundled.report import measure_engine
from anselect.training.bundled.stages import adapt, distil, lesson, lesson_start, member, train_adviser, transfer
from anselect.training.module_command import run_command

MEMBERS: Final = 2

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
Work = Annotated[Path, typer.Option(help="Folder for data and checkpoints; a stopped building goes on from there.")]


@app.command()
def build(
    work: Work = Path("runs/bundled"),
    output: Annotated[Path, typer.Option(help="The engine folder to write.")] = BUNDLED,
    start: Annotated[
        Path | None, typer.Option(help="An engine folder in 8 bits to go on from; default: train one from the encoder.")
    ] = None,
    advice: Annotated[
        Path | None, typer.Option(help="What a larger model has said (keep-advice); default: train one and ask it.")
    ] = None,
) -> None:
    """Train, average, export and measure the model; finished parts are not made again."""
    plan = Build(work)
    first = start or _first_engine(plan)
    run = lesson(plan, advice or train_adviser(plan), first)
    learnt = choose_mean([run], lesson_start(plan, first), dev_sets(plan), work / "learnt", LESSON_SHARES, LESSON_COST)
    engine = work / "engine"
    left = choose_exit(learnt, dev_sets(plan), work / "exit")
    _describe(plan, engine, asdict(finish_model(plan, left, engine, "lesson")), _known_metrics(first))
    # Nothing unfinished ever stands where users load it from.
    copy_folder(engine, output)


def _first_engine(plan: Build) -> Path:
    """Return the engine that the larger model's lesson begins with: taught by itself and its encoder's cosine."""
    engine = plan.folder / "engine-first"
    if not (engine / MODEL).is_file():
        transferred = transfer(plan)
        members = [adapt(member(plan, number), transferred) for number in range(MEMBERS)]
        mean = choose_mean(members, transferred, dev_sets(plan), plan.folder / "mean")
        taught = choose_mean([distil(plan, mean)], mean, dev_sets(plan), plan.folder / "taught", TAUGHT_SHARES)
        finish_model(member(plan, 0), taught, engine, "adapt")
    return engine


@app.command()
def keep_advice(
    path: Annotated[Path, typer.Argument(help="The file to write; it holds hashes and logits, no texts.")],
    work: Work = Path("runs/bundled"),
) -> None:
    """Write what the larger model says of the last lesson's lists into one file, for `build --advice`."""
    plan = Build(work)
    lists = [
        each
        for each in read_questions(write_stage(plan, "lesson").train)
        if plan.mixture.source_of("lesson", each).advice
    ]
    count = write_advice(train_adviser(plan), lists, work / ADVICE, path)
    typer.echo(f"{count} pairs kept in {path}", err=True)


@app.command()
def leave_out(work: Work = Path("runs/bundled")) -> None:
    """Train models without some of the sets and measure them there."""
    typer.echo(json.dumps(leave_each_out(Build(work)), indent=2))


@app.command()
def measure(
    work: Work = Path("runs/bundled"),
    output: Annotated[Path, typer.Option(help="The engine folder; its card and figures are written anew.")] = BUNDLED,
) -> None:
    """Measure the engine folder again and write its card anew."""
    known = _known_metrics(output)
    _describe(Build(work), output, known["finish"], known)


def _known_metrics(engine: Path) -> dict[str, Any]:
    """Return what stands beside an engine; nothing where it was not measured."""
    path = engine / "metrics.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _describe(plan: Build, output: Path, finished: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Measure, and write metrics.json, the reliability diagram and the card beside the model.

    `before` are the metrics of the engine that the building began with: what was recorded then is part of the story.
    """
    audits = [
        "transfer.audit.json",
        *(f"member-{number}/adapt.audit.json" for number in range(MEMBERS)),
        "distil.audit.json",
        "adviser.audit.json",
        "lesson.audit.json",
    ]
    metrics = {
        **{name: before[name] for name in ("leave_out", "mean", "taught", "learnt", "exit") if name in before},
        **measure_engine(plan, output),
        "finish": finished,
        "max_tokens": read_manifest(output).max_tokens,
        "sha256": file_sha256(output / MODEL),
        "bytes": (output / MODEL).stat().st_size,
        **_records(
            plan.folder,
            {
                "leave_out": RECORD,
                "mean": f"mean/{MEAN_RECORD}",
                "taught": f"taught/{MEAN_RECORD}",
                "learnt": f"learnt/{MEAN_RECORD}",
                "exit": f"exit/{EXIT_RECORD}",
            },
        ),
        "audit": {
            **before.get("audit", {}),
            **_records(plan.folder, {name.removesuffix(".audit.json"): name for name in audits}),
        },
    }
    bins = [Bin(**each) for each in finished["bins"]]
    save_figure(
        draw_calibration(bins, title="What scores promise, and what came true (dev)"), output / "reliability.svg"
    )
    for name, text in (("metrics.json", json.dumps(metrics, indent=2) + "\n"), ("README.md", write_card(metrics))):
        with write_text(output / name) as file:
            file.write(text)
    typer.echo(json.dumps(metrics["sets"], indent=2))


def _records(folder: Path, files: Mapping[str, str]) -> dict[str, Any]:
    """Return what those of the JSON files hold that are there."""
    return {name: json.loads((folder / file).read_text()) for name, file in files.items() if (folder / file).is_file()}


if __name__ == "__main__":
    run_command(app)
