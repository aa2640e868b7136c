"""`anselect export` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("onnx")

from anselect.cli.main import app
from anselect.data.reading import write_questions
from anselect.engine.folder import read_manifest
from anselect.errors import AnselectError, UsageError
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


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_exported_reranker_ranks_as_the_model_does(tmp_path: Path, pooling: str) -> None:
    made, tokenizer = AnswerSelectionModel.from_encoder(
        save_tiny_bert(tmp_path / "bert"), max_tokens=32, pooling=pooling
    )
    CrossEncoderRanker(made, tokenizer).save(tmp_path / "model")
    folders = [str(tmp_path / "model"), str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["export", *folders, "--as", "sentence-transformers"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "scores differ by at most" in done.stderr
    assert ("sentence-transformers reads it from version 5.4 on" in done.stderr) == (pooling == "mean")
    asked = ["rank", "who made the lamp", "the lamp is rome", "bell made the lamp", "a red lamp", "--format", "json"]
    own, other = (json.loads(CliRunner().invoke(app, [*asked, "--model", folder]).stdout) for folder in folders)
    own, other = ([(row["index"], row["score"]) for row in found] for found in (own, other))
    assert [index for index, _ in other] == [index for index, _ in own]
    assert [score for _, score in other] == pytest.approx([score for _, score in own], abs=1e-5)


def test_expected_text_steps_are_told(tmp_path: Path) -> None:
    made, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32)
    made.config.text_steps = {"highlight": "none", "pipeline": "", "lower_case": True}
    CrossEncoderRanker(made, tokenizer).save(tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), str(tmp_path / "out"), "--as", "sentence-transformers"]
    assert "the model expects lower-cased texts" in CliRunner().invoke(app, arguments).stderr


def test_model_trained_on_highlighted_texts_is_no_reranker_of_others(tmp_path: Path) -> None:
    made, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32)
    made.add_highlight_tokens(tokenizer, "mark")
    CrossEncoderRanker(made, tokenizer).save(tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), str(tmp_path / "out"), "--as", "sentence-transformers"]
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, UsageError)
    assert str(error) == "trained on highlighting 'mark', which others would not do: export it for the engine"
    assert not (tmp_path / "out").exists()


def test_engine_of_a_chain_of_modules_is_refused_in_one_line(tmp_path: Path) -> None:
    made, tokenizer = AnswerSelectionModel.from_encoder(
        save_tiny_bert(tmp_path / "bert"), max_tokens=32, pooling="mean"
    )
    CrossEncoderRanker(made, tokenizer).save(tmp_path / "model")
    first = ["export", str(tmp_path / "model"), str(tmp_path / "chain"), "--as", "sentence-transformers"]
    assert CliRunner().invoke(app, first).exit_code == 0
    done = CliRunner().invoke(app, ["export", str(tmp_path / "chain"), str(tmp_path / "out"), "--precision", "fp32"])
    assert isinstance(done.exception, AnselectError)
    assert "expected a model for sequence classification, got BertModel" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "give --data NAME or --calibration FILE"), (["--data", "wikiqa", "--calibration", "x.tsv"], "got both")],
)
def test_wrong_options_are_refused(model: Path, tmp_path: Path, options: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["export", str(model), str(tmp_path / "out"), *options])
    assert isinstance(done.exception, AnselectError)
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()
