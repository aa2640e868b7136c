"""Build the model that the package ships: `python -m anselect.experiments.bundled_model --help`.

Comes in: the data sets and a public encoder. Goes out: the engine folder with model card, figures and diagram.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer

from anselect.data.files import copy_folder, file_sha256, write_text
from anselect.data.reading import read_questions
from anselect.engine.folder import BUNDLED, MODEL, is_engine_folder, read_manifest
from anselect.errors import MissingFileError, UsageError
from anselect.evaluation.calibration import Bin
from anselect.experiments.figures.scores import draw_calibration
from anselect.experiments.figures.style import save_figure
from anselect.modeling.checkpoint import check_checkpoint, model_folder
from anselect.records import Question
from anselect.training.bundled.card import write_card
from anselect.training.bundled.data import Build, write_stage
from anselect.training.bundled.exit_limit import RECORD as EXIT_RECORD
from anselect.training.bundled.exit_limit import choose_exit
from anselect.training.bundled.finish import finish_model
from anselect.training.bundled.leave_out import RECORD, leave_each_out
from anselect.training.bundled.mean_model import RECORD as MEAN_RECORD
from anselect.training.bundled.mean_model import choose_mean
from anselect.training.bundled.measure import dev_sets
from anselect.training.bundled.report import measure_engine
from anselect.training.bundled.sources import MIXTURE
from anselect.training.bundled.stages import lesson, practise, revise, take_refresher, train_adviser, untouched
from anselect.training.module_command import run_command

RECORDS: Final = {
    "leave_out": RECORD,
    "learnt": f"learnt/{MEAN_RECORD}",
    "exit": f"exit/{EXIT_RECORD}",
    "refreshed": f"refreshed/{MEAN_RECORD}",
    "finished_exit": f"finished-exit/{EXIT_RECORD}",
    "adviser_audit": "adviser.audit.json",
    "lesson_audit": "lesson.audit.json",
    "practice_audit": "practice.audit.json",
    "refresher_audit": "refresher.audit.json",
}
"""What a building leaves in its folder and is told in metrics.json."""
REFRESHED_SHARES: Final = (0.0, 0.3, 0.6)
"""How much of the model before may stay in the refreshed one."""
FITTED_LISTS: Final = 10_000
"""To so many lists of a stage a first guess is fitted."""
LARGER_SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.4)
"""How much of its untouched encoder the larger model may keep."""
LARGER_SETS: Final = ("trecqa", "wikiqa")
"""What that is chosen by: it takes long to read forum posts."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
Work = Annotated[Path, typer.Option(help="Folder for data and checkpoints; a stopped building goes on from there.")]


@app.command()
def build(
    work: Work = Path("runs/bundled"),
    output: Annotated[Path, typer.Option(help="The engine folder to write.")] = BUNDLED,
) -> None:
    """Train, average, export and measure the model; finished parts are not made again."""
    plan = Build(work)
    teacher = train_adviser(plan)
    first = lesson(plan, teacher)
    revised = revise(plan, first, teacher)
    practised = practise(plan, revised, teacher)
    runs = [first, revised, practised, practise(plan, practised, teacher, "rehearsal")]
    learnt = choose_mean(runs, untouched(plan), dev_sets(plan), work / "learnt")
    left = choose_exit(learnt, _lists(plan, "lesson"), dev_sets(plan), work / "exit")
    engine = work / "engine"
    if not is_engine_folder(engine):
        finish_model(plan, left, engine, "lesson")
    _finish(plan, _refresh(plan, engine), output, {})


@app.command()
def refresh(
    work: Work = Path("runs/bundled"),
    start: Annotated[Path, typer.Option(help="The engine folder to go on from.")] = BUNDLED,
    output: Annotated[Path, typer.Option(help="The engine folder to write.")] = BUNDLED,
    teacher: Annotated[
        list[str] | None,
        typer.Option(help="SET=RUN: on lists of this data set the run teaches instead; may be repeated."),
    ] = None,
) -> None:
    """Only the last stage of `build`, from an engine folder: taught by itself, the encoder's cosine and the labels."""
    plan = Build(work, teachers=_teachers(teacher or []))
    _finish(plan, _refresh(plan, start), output, _recorded(start))


def _teachers(named: Sequence[str]) -> dict[str, Path]:
    """Read SET=RUN; raise UsageError for anything else, MissingFileError or DataError for no run."""
    teachers = {}
    for each in named:
        data, is_given, run = each.partition("=")
        if not (data and is_given and run):
            raise UsageError(f"expected --teacher SET=RUN, got '{each}'")
        if data not in {source.data for source in MIXTURE.refresher}:
            raise UsageError(f"--teacher {each}: the refresher has no lists of '{data}'")
        if not Path(run).is_dir():
            raise MissingFileError(f"--teacher {each}: no such run or model folder")
        if not is_engine_folder(Path(run)):
            check_checkpoint(model_folder(Path(run)))
        teachers[data] = Path(run)
    return teachers


def _refresh(plan: Build, start: Path) -> Path:
    """Let a finished model teach itself, and mix what it learns with it; return the folder."""
    run = take_refresher(plan, start)
    return choose_mean([run], start, dev_sets(plan), plan.folder / "refreshed", REFRESHED_SHARES)


def _finish(plan: Build, learnt: Path, output: Path, known: Mapping[str, Any]) -> None:
    """Choose who leaves early, export, measure, and copy the whole folder to its place."""
    left = choose_exit(learnt, _lists(plan, "refresher"), dev_sets(plan), plan.folder / "finished-exit")
    engine = plan.folder / "finished-engine"
    _describe(plan, engine, asdict(finish_model(plan, left, engine, "refresher")), known)
    # Nothing unfinished ever stands where users load it from.
    copy_folder(engine, output)


def _lists(plan: Build, stage: str) -> list[Question]:
    """Return as many of a stage's lists as a first guess is fitted to."""
    return list(islice(read_questions(write_stage(plan, stage).train), FITTED_LISTS))


@app.command()
def refit_exit(
    work: Work = Path("runs/bundled"),
    start: Annotated[Path, typer.Option(help="The engine folder whose exit is fitted anew.")] = BUNDLED,
    output: Annotated[Path, typer.Option(help="The engine folder to write.")] = BUNDLED,
) -> None:
    """Fit only the first guess anew, and choose who leaves early; nothing else of the model changes."""
    _finish(Build(work), start, output, _recorded(start))


@app.command()
def larger(work: Work = Path("runs/bundled")) -> None:
    """Only the first stage of `build`, as a model of its own: mixed by dev figures with its untouched encoder."""
    plan = Build(work)
    run = train_adviser(plan)
    sets = [each for each in dev_sets(plan) if each.name in LARGER_SETS]
    typer.echo(choose_mean([run], untouched(plan, "adviser"), sets, work / "larger", LARGER_SHARES))


@app.command()
def leave_out(work: Work = Path("runs/bundled")) -> None:
    """Train models without some of the sets and measure them there."""
    typer.echo(json.dumps(leave_each_out(Build(work)), indent=2))


@app.command()
def measure(
    work: Work = Path("runs/bundled"),
    output: Annotated[Path, typer.Option(help="The engine folder; its card and figures are written anew.")] = BUNDLED,
) -> None:
    """Measure the engine folder again and write its card anew; what a building recorded and is gone since, stays."""
    _describe(Build(work), output, _metrics(output)["finish"], _recorded(output))


def _metrics(engine: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((engine / "metrics.json").read_text(encoding="utf-8"))
    return known


def _recorded(engine: Path) -> dict[str, Any]:
    """Return what the building of an engine folder recorded."""
    return {name: value for name, value in _metrics(engine).items() if name in RECORDS}


def _describe(
    plan: Build, output: Path, finished: Mapping[str, Any], known: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Measure, and write metrics.json, the reliability diagram and the card beside the model."""
    metrics = {
        **known,
        **measure_engine(plan, output),
        "finish": finished,
        "max_tokens": read_manifest(output).max_tokens,
        "sha256": file_sha256(output / MODEL),
        "bytes": (output / MODEL).stat().st_size,
        **_records(plan.folder),
    }
    bins = [Bin(**each) for each in finished["bins"]]
    save_figure(
        draw_calibration(bins, title="What scores promise, and what came true (dev)"), output / "reliability.svg"
    )
    for name, text in (("metrics.json", json.dumps(metrics, indent=2) + "\n"), ("README.md", write_card(metrics))):
        with write_text(output / name) as file:
            file.write(text)
    typer.echo(json.dumps(metrics["sets"], indent=2))


def _records(folder: Path) -> dict[str, Any]:
    """Return what a building has recorded."""
    found = {name: folder / file for name, file in RECORDS.items()}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items() if path.is_file()}


if __name__ == "__main__":
    run_command(app)
