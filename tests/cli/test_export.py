"""`anselect export` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("onnx")

from anselect.cli.main import app
from anselect.data.reading import write_questions
from anselect.engine.folder import read_manifest
from anselect.errors import AnselectError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker
from tests.training.tiny import learnable_questions, save_tiny_bert


@pytest.fixture
def model(tmp_path: Path) -> Path:
    made, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32)
    CrossEncoderRanker(made, tokenizer).save(tmp_path / "model")
    return tmp_path / "model"


def test_engine_is_written_with_its_drift(model: Path, tmp_path: Path) -> None:
    write_questions(learnable_questions(12), tmp_path / "own.jsonl")
    options = ["--calibration", str(tmp_path / "own.jsonl"), "--max-drift", "1"]
    done = CliRunner().invoke(app, ["export", str(model), str(tmp_path / "out"), *options])
    assert done.exit_code == 0, done.output
    assert "Kendall tau" in done.stdout
    assert "MB, int8, scores differ by at most" in done.stderr
    assert read_manifest(tmp_path / "out").drift["questions"] == 6


def test_engine_in_32_bits_needs_no_questions(model: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", str(model), str(tmp_path / "out"), "--precision", "fp32"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert read_manifest(tmp_path / "out").precision == "fp32"


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "give --data NAME or --calibration FILE"), (["--data", "wikiqa", "--calibration", "x.tsv"], "got both")],
)
def test_wrong_options_are_refused(model: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["export", str(model), str(tmp_path / "out"), *options])
    assert isinstance(done.exception, AnselectError)
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()
