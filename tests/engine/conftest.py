"""Engine folders of a tiny BERT, in 8 and in 32 bits, made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

from anselect.data.protocols import PROTOCOLS
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source
from tests.training.tiny import add_exit, learnable_questions, save_tiny_bert


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model` (ours, 32 tokens), `fp32` and engines in 8 bits of other kinds; not to be changed."""
    folder = tmp_path_factory.mktemp("engines")
    model, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(folder / "bert"), max_tokens=32)
    CrossEncoderRanker(model, tokenizer).save(folder / "model")
    questions = learnable_questions(6)
    calibration = Calibration("tiny", questions, questions, PROTOCOLS["answerable"])
    for precision in ("int8", "fp32"):
        source = load_source(folder / "model")
        export_engine(source, folder / precision, precision=precision, calibration=calibration, max_drift=1.0)
    settings: dict[str, Any] = {"head": "match", "pooling": "mean", "max_tokens": 32}
    matched, tokenizer = AnswerSelectionModel.from_encoder(str(folder / "bert"), **settings)
    CrossEncoderRanker(matched, tokenizer).save(folder / "match")
    export_engine(load_source(folder / "match"), folder / "int8-match", calibration=calibration, max_drift=1.0)
    pooled, tokenizer = AnswerSelectionModel.from_encoder(str(folder / "bert"), pooling="mean", max_tokens=32)
    CrossEncoderRanker(pooled, tokenizer).save(folder / "mean")
    export_engine(load_source(folder / "mean"), folder / "int8-mean", calibration=calibration, max_drift=1.0)
    settings = {"head": "sigmoid", "pooling": "mean", "max_tokens": 32, "question_layers": 1}
    once, tokenizer = AnswerSelectionModel.from_encoder(str(folder / "bert"), **settings)
    CrossEncoderRanker(once, tokenizer).save(folder / "once")
    export_engine(load_source(folder / "once"), folder / "int8-once", calibration=calibration, max_drift=1.0)
    for name, model in (("exit", pooled), ("match-exit", matched), ("once-exit", once)):
        leaving = CrossEncoderRanker(model, tokenizer)
        add_exit(leaving, questions)
        leaving.save(folder / name)
        export_engine(load_source(folder / name), folder / f"int8-{name}", calibration=calibration, max_drift=1.0)
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy one of the engine folders to a place where it may be broken."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(made / name, tmp_path / name))

    return copy
