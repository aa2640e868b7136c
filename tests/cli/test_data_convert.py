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


def test_labels_become_qrels_and_the_texts_are_said_to_be_lost(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    result = run(tmp_path / "a.tsv", tmp_path / "b.qrels")
    assert result.stderr.splitlines() == [
        "note: tsv to qrels: 1 questions, 2 candidates",
        "warning: qrels cannot hold everything, dropped or changed: texts (3), candidate metadata page (1)",
    ]
    assert (tmp_path / "b.qrels").read_text() == "Q1 0 Q1-0 1\nQ1 0 Q1-1 0\n"
    to_stdout = run(tmp_path / "a.tsv", "-", "--output-format", "qrels")
    assert to_stdout.stdout == (tmp_path / "b.qrels").read_text()


def test_qrels_are_not_read_as_questions(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("Q1 0 Q1-0 1\n")
    error = run(tmp_path / "a.qrels", tmp_path / "b.tsv").exception
    assert isinstance(error, UsageError)
    assert "expected a format with texts to read, got qrels, which is only written: use tsv, csv" in str(error)


def test_help_offers_what_can_be_read_and_what_can_be_written() -> None:
    page = " ".join(run("--help").stdout.replace("│", " ").split())
    read, written = page.partition("--output-format")[::2]
    written = written.partition("--split")[0]
    assert ("spans" in read, "qrels" in read) == (True, False)
    assert ("spans" in written, "qrels" in written) == (False, True)


def test_data_set_is_looked_for_in_the_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSELECT_DATA", str(tmp_path / "elsewhere"))
    (tmp_path / "data" / "wikiqa").mkdir(parents=True)
    (tmp_path / "data" / "wikiqa" / "dev.tsv").write_text(TSV)
    arguments = ("wikiqa", "-", "--output-format", "qrels", "--split", "dev", "--data-dir", tmp_path / "data")
    assert run(*arguments).stdout == "Q1 0 Q1-0 1\nQ1 0 Q1-1 0\n"


@pytest.mark.parametrize("arguments", [[], ["--force"]])
def test_folder_in_the_place_of_the_target_is_a_usage_mistake(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    (tmp_path / "b.jsonl").mkdir()
    error = run(tmp_path / "a.tsv", tmp_path / "b.jsonl", *arguments).exception
    assert isinstance(error, UsageError)
    assert str(error) == f"{tmp_path / 'b.jsonl'}: expected a file to write, got a folder: name a file in it"


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
        ("question\tcandidate\tlabel\n", [], DataError),
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
