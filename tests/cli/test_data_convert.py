from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from anselect.cli.data_convert import convert
from anselect.errors import AnselectError, DataError, MissingFileError, UsageError

app = typer.Typer()
app.command()(convert)

TSV = "question\tcandidate\tlabel\tpage\nWho?\tHe.\t1\t3\nWho?\tIt.\t0\t\n"


def run(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def test_file_to_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    result = run(tmp_path / "a.tsv", tmp_path / "b.jsonl")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == "note: tsv to jsonl: 1 questions, 2 candidates\n"
    assert (tmp_path / "b.jsonl").read_text() == (
        '{"id": "Q1", "question": "Who?", "candidates": [{"id": "Q1-0", "text": "He.", "label": 1, '
        '"metadata": {"page": "3"}}, {"id": "Q1-1", "text": "It.", "label": 0}]}\n'
    )


def test_stdin_to_stdout() -> None:
    result = run("-", "-", "--input-format", "tsv", "--output-format", "csv", given=TSV)
    assert result.exit_code == 0
    assert result.stdout_bytes == (
        b"question_id,question,candidate_id,candidate,label,page\r\nQ1,Who?,Q1-0,He.,1,3\r\nQ1,Who?,Q1-1,It.,0,\r\n"
    )


def test_losses_are_said_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    result = run(tmp_path / "a.tsv", tmp_path / "b", "--output-format", "toks")
    assert result.stderr.splitlines() == [
        "note: tsv to toks: 1 questions, 2 candidates",
        "warning: toks cannot hold everything, dropped or changed: candidate metadata page (1)",
    ]
    assert (tmp_path / "b" / "b.toks").read_text() == "He.\nIt.\n"


def test_target_is_replaced_with_force_only(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    (tmp_path / "b.jsonl").write_text("old")
    refused = run(tmp_path / "a.tsv", tmp_path / "b.jsonl")
    assert isinstance(refused.exception, UsageError)
    assert (tmp_path / "b.jsonl").read_text() == "old"
    assert run(tmp_path / "a.tsv", tmp_path / "b.jsonl", "--force").exit_code == 0
    assert (tmp_path / "b.jsonl").read_text().startswith('{"id": "Q1"')


def test_detokenize(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("question\tcandidate\nWho ?\tHe did n't .\n")
    result = run(tmp_path / "a.tsv", "-", "--output-format", "tsv", "--detokenize")
    assert result.stdout.splitlines()[1] == "Q1\tWho?\tQ1-0\tHe didn't.\t"


@pytest.mark.parametrize(
    ("content", "arguments", "error"),
    [
        ("question\tcandidate\tlabel\nq\ta\t2\n", [], DataError),
        ("", [], DataError),
        ("\0", [], DataError),
        (TSV, ["--input-format", "exel"], UsageError),
        (TSV, ["--split", "test"], UsageError),
        (None, [], MissingFileError),
    ],
)
def test_mistakes_leave_no_target(
    content: str | None, arguments: list[str], error: type[AnselectError], tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "a.tsv").write_text(content)
    result = run(tmp_path / "a.tsv", tmp_path / "b.jsonl", *arguments)
    assert type(result.exception) is error
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "b.jsonl").exists()
