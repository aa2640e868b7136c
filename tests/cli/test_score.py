from __future__ import annotations

import json
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from anselect.cli.score import score
from anselect.errors import DataError, MissingFileError, UsageError

app = typer.Typer()
app.command()(score)

TSV = "question\tcandidate\nWho rang the bell?\tIt was cold.\nWho rang the bell?\tBell rang the bell.\n"


def run(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def test_file_to_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    result = run(tmp_path / "a.tsv", tmp_path / "b.jsonl")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == "note: 2 rows of 1 questions scored"
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [(row["candidate"], row["rank"]) for row in rows] == [("It was cold.", 2), ("Bell rang the bell.", 1)]
    assert 1 > rows[1]["score"] > rows[0]["score"] > 0


def test_pipe() -> None:
    result = run("-", "-", "--input-format", "tsv", given=TSV)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == ["question", "candidate", "score", "rank"]
    assert [cells[1:4:2] for cells in lines[1:]] == [["It was cold.", "2"], ["Bell rang the bell.", "1"]]


def test_existing_output_needs_force(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    (tmp_path / "b.tsv").write_text("mine")
    assert isinstance(run(tmp_path / "a.tsv", tmp_path / "b.tsv").exception, UsageError)
    assert (tmp_path / "b.tsv").read_text() == "mine"
    assert run(tmp_path / "a.tsv", tmp_path / "b.tsv", "--force").exit_code == 0
    assert (tmp_path / "b.tsv").read_text().startswith("question\tcandidate\tscore\trank\n")


def test_bad_row_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV + "alone\n")
    error = run(tmp_path / "a.tsv", tmp_path / "b.tsv").exception
    assert isinstance(error, DataError)
    assert error.exit_code == 5
    assert str(error).startswith(f"{tmp_path / 'a.tsv'}:4: expected 2 cells")
    assert "\n" not in str(error)


def test_missing_input_is_told_before_a_model_is_loaded(tmp_path: Path) -> None:
    error = run(tmp_path / "a.tsv", tmp_path / "b.tsv", "--model", tmp_path / "no model").exception
    assert isinstance(error, MissingFileError)
    assert str(error) == f"{tmp_path / 'a.tsv'}: no such file, expected one to read: check the path"
