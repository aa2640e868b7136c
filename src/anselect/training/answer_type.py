"""Train the answer-type detector that the package ships: `python -m anselect.training.answer_type --help`.

Comes in: Li & Roth's questions, unlabelled questions, a public encoder. Goes out: a folder with the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from anselect.errors import MissingExtraError
from anselect.training.module_command import run_command

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

DataDir = Annotated[Path, typer.Option(help="Folder with trec-qc, wikiqa, trecqa and transfer.")]


@app.command()
def train(
    data_dir: DataDir,
    base_dir: Annotated[Path, typer.Option(help="Folder of all-MiniLM-L6-v2: where teachers and student start.")],
    work_dir: Annotated[Path, typer.Option(help="Folder for checkpoints; a stopped training goes on from there.")],
    output: Annotated[Path, typer.Option(help="Folder for the model.")],
    held_out_fold: Annotated[int | None, typer.Option(help="Leave this fifth of train out and report on it.")] = None,
) -> None:
    """Train teachers and student, write the model folder."""
    _require_torch()
    from anselect.training.answer_type_pipeline import train_detector
    from anselect.training.answer_type_recipe import Paths

    paths = Paths(data_dir, base_dir, work_dir, output)
    typer.echo(json.dumps(train_detector(paths, held_out_fold), indent=2))


@app.command()
def measure(
    data_dir: DataDir,
    model: Annotated[Path, typer.Option(help="Model folder; its metrics.json and README.md are written anew.")],
    figure: Annotated[Path | None, typer.Option(help="PNG file for the confusion matrix.")] = None,
    errors: Annotated[Path | None, typer.Option(help="TSV file for the wrong answers.")] = None,
) -> None:
    """Measure a model folder on TREC_10, with and without the questions that also stand in train."""
    from anselect.training.answer_type_report import measure_model

    typer.echo(json.dumps(measure_model(data_dir, model, figure=figure, errors=errors), indent=2))


def _require_torch() -> None:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("train", "torch") from error
    torch.use_deterministic_algorithms(True)


def main() -> None:
    """Run the command."""
    run_command(app)


if __name__ == "__main__":
    main()
