"""A trained model in, the engine folder that ships out: 8 bits, its scores calibrated on the dev questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import read_questions
from anselect.engine.folder import MODEL, TOKENIZER, read_manifest, write_engine
from anselect.engine.ranker import load_engine
from anselect.evaluation.calibration import Bin, expected_calibration_error, fit_calibration, reliability
from anselect.records import Question
from anselect.training.bundled.data import Build, write_dev, write_stage
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source

DESCRIPTION: Final = "bundled model (all-MiniLM-L6-v2, trained for answer selection, int8)"


@dataclass(frozen=True, slots=True)
class Finished:
    """What finishing measured on dev."""

    drift: dict[str, Any]
    """8 bits against 32."""
    temperature: float
    bias: float
    calibration_error: float
    bins: tuple[Bin, ...]


def finish_model(build: Build, run: Path, folder: Path, stage: str) -> Finished:
    """Export to 8 bits through the drift gate, calibrate, and write the engine folder; ranges are those of a stage."""
    dev = list(read_questions(write_dev(build)))
    lists = read_questions(write_stage(build, stage).train)
    # Written lists are of short sentences: ranges measured on them would be too narrow for others.
    ranges = [each for each in lists if build.mixture.source_of(stage, each).split != "written"]
    data = Calibration("the dev parts", ranges, dev, PROTOCOLS["answerable"])
    export_engine(load_source(run), folder, calibration=data)
    return calibrate(folder, dev)


def calibrate(folder: Path, dev: list[Question]) -> Finished:
    """Fit the scores of an engine folder to the labels of the dev questions, and write the fit into its manifest."""
    engine = load_engine(folder)
    pairs = [(question.text, candidate.text) for question in dev for candidate in question.candidates]
    labels = [candidate.label or 0 for question in dev for candidate in question.candidates]
    logits = engine.logits(pairs)
    fitted = fit_calibration(logits, labels)
    manifest = replace(
        read_manifest(folder), description=DESCRIPTION, temperature=1.0 / fitted.slope, bias=fitted.intercept
    )
    write_engine(folder, {name: (folder / name).read_bytes() for name in (MODEL, TOKENIZER)}, manifest)
    bins = reliability(fitted.probabilities(np.asarray(logits)), labels)
    return Finished(
        dict(manifest.drift), manifest.temperature, manifest.bias, expected_calibration_error(bins), tuple(bins)
    )
