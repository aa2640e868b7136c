"""`anselect export`: a trained model in, a folder for the engine or for other rerankers out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anselect.cli.output import print_note, print_table
from anselect.errors import MissingExtraError, MissingFileError, UsageError

if TYPE_CHECKING:
    from anselect.training.engine_export import ExportReport


class ExportForm(StrEnum):
    """What the folder is to be."""

    engine = "engine"
    sentence_transformers = "sentence-transformers"


class Precision(StrEnum):
    """How an engine computes."""

    int8 = "int8"
    fp32 = "fp32"


def export(
    model: Annotated[Path, typer.Argument(help="A trained run's or model's folder, or a Hub classifier's.")],
    folder: Annotated[Path, typer.Argument(help="The new folder.", metavar="DIR")],
    form: Annotated[ExportForm, typer.Option("--as", help="What to write.")] = ExportForm.engine,
    precision: Annotated[Precision, typer.Option(help="8-bit products, or 32-bit ones.")] = Precision.int8,
    data: Annotated[
        str | None, typer.Option(metavar="NAME", help="Data set: ranges from its training split, drift on dev.")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Own labelled questions, half for ranges, half for drift.")
    ] = None,
    max_drift: Annotated[float, typer.Option(min=0.0, help="How much MAP may fall.")] = 0.003,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
) -> None:
    """Write an engine folder that ranks without PyTorch, or a one-logit checkpoint that other rerankers load.

    The latter needs a head of linear, sigmoid or fc; pairs are scored as by the model itself.

    \b
    Examples:
      anselect export runs/minilm-linear-all-MiniLM-L6-v2-wikiqa-seed0 engine --data wikiqa
      anselect export runs/minilm-linear-all-MiniLM-L6-v2-wikiqa-seed0 reranker --as sentence-transformers
    """
    if not model.is_dir():
        raise MissingFileError(f"{model}: no such run or model folder")
    if data is not None and calibration is not None:
        raise UsageError("expected --data or --calibration, got both")
    try:
        if form is ExportForm.engine:
            _export_engine(model, folder, precision, str(calibration) if calibration else data, max_drift, data_dir)
        else:
            _export_classifier(model, folder)
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error


def _export_engine(
    model: Path, folder: Path, precision: Precision, data: str | None, max_drift: float, data_dir: Path | None
) -> None:
    from anselect.training.engine_export import export_engine, read_calibration
    from anselect.training.engine_export_source import load_source

    calibration = None if data is None else read_calibration(data, data_dir=data_dir)
    source = load_source(model)
    report = export_engine(source, folder, precision=precision, calibration=calibration, max_drift=max_drift)
    _print_report(report, folder)


def _print_report(report: ExportReport, folder: Path) -> None:
    if report.drift is not None:
        drift = report.drift
        columns = ["data", "protocol", "questions", "MAP original", f"MAP {report.precision}", "Kendall tau"]
        figures = [f"{value:.4f}" for value in (drift.map_original, drift.map_exported, drift.kendall_tau)]
        print_table([[drift.data, drift.protocol, str(drift.questions), *figures]], columns)
    print_note(
        f"{folder}: {report.size / 1e6:.1f} MB, {report.precision}, "
        f"scores differ by at most {report.largest_difference:.1e} from the original's"
    )


def _export_classifier(model: Path, folder: Path) -> None:
    from anselect.modeling.checkpoint import model_folder
    from anselect.modeling.export import export_classifier
    from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
    from anselect.training.engine_export import SAMPLES

    ranker = load_ranker(model_folder(model))
    if not isinstance(ranker, CrossEncoderRanker):
        raise UsageError(f"{model}: expected a cross-encoder, got a {type(ranker).__name__}")
    written = export_classifier(ranker, folder, samples=SAMPLES)
    if getattr(ranker.model.config, "text_steps", {}).get("lower_case"):
        print_note("the model expects lower-cased texts: other rerankers will not lower-case them")
    if written.is_modular:
        print_note("a chain of modules: sentence-transformers reads it from version 5.4 on")
    print_note(f"{folder}: scores differ by at most {written.largest_difference:.1e} from the model's own")
