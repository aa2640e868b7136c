from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from anselect.cli.data_audit import COLUMNS, OVERLAP_COLUMNS, audit
from anselect.data.locate import DATA_VARIABLE
from anselect.errors import DataError, UsageError

app = typer.Typer()
app.command()(audit)

HEADER = "question_id\tquestion\tcandidate_id\tcandidate\tlabel\n"
SOUND = HEADER + "1\tWho?\ta\tHe.\t1\n1\tWho?\tb\tIt.\t0\n"
UNSOUND = HEADER + "1\tWho?\ta\tHe.\t0\n2\tWhen?\ta\tNow.\t0\n3\tWhy?\ta\tSo.\t0\n4\tHow?\ta\tThis &amp; that.\t0\n"


def run(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def test_sound_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(SOUND)
    result = run(path, "--strict")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == f"note: {path}: 1 questions, 2 candidates, 0 defects, 0 remarks\n"


def test_data_set_is_looked_for_in_the_named_folder(tmp_path: Path) -> None:
    (tmp_path / "transfer").mkdir()
    line = '{"id": "1", "question": "Who?", "context": "He did. It rang.", "answers": [{"text": "He", "start": 0}]}'
    (tmp_path / "transfer/quoref_dev.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    result = run("quoref-dev", "--data-dir", tmp_path)
    assert result.stderr == "note: quoref-dev: 1 questions, 2 candidates, 0 defects, 0 remarks\n"


def test_table_has_counts_then_examples_with_places(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(UNSOUND)
    result = run(path)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["no-positive", "defect", str(path), "4"] in lines
    assert ["html-entity", "remark", str(path), "1"] in lines
    assert f"{path}:2: no-positive: 1: none of 1 candidates is correct: it cannot be answered" in result.stdout
    assert f"{path}:5: html-entity: 4 a: &amp; stands in the text as such" in result.stdout
    assert "  … and 1 more like this" in result.stdout
    assert f"{path}:5: no-positive" not in result.stdout


def test_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(UNSOUND)
    assert run(path, "--limit", 4).stdout.count(": no-positive: ") == 4
    assert run(path, "--limit", 0).stdout.count(": no-positive: ") == 0
    assert len(run(path, "--limit", 1, "--format", "jsonl").stdout.splitlines()) == 2


def test_strict_fails_with_exit_code_5_after_the_findings_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(UNSOUND)
    result = run(path, "--strict", "--format", "json")
    assert isinstance(result.exception, DataError)
    assert result.exception.exit_code == 5
    assert "got 4 defects" in str(result.exception)
    assert len(json.loads(result.stdout)) == 5


def test_remarks_alone_pass_strict(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("question\tcandidate\nWho?\tHe.\n")
    result = run(path, "--strict", "--format", "tsv")
    assert result.exit_code == 0
    assert [line.split("\t")[:2] for line in result.stdout.splitlines()] == [
        ["kind", "severity"],
        ["unlabelled", "remark"],
    ]


def test_json_rows_have_every_column(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(SOUND)
    (tmp_path / "b.jsonl").write_text(
        '{"question": "who?", "candidates": [{"text": "It.", "label": 0}, {"text": "x", "label": 1}]}\n'
    )
    rows = json.loads(run(tmp_path / "a.tsv", tmp_path / "b.jsonl", "--format", "json").stdout)
    assert [row["kind"] for row in rows] == ["leaked-question", "leaked-pair"]
    assert rows[1] == {
        "kind": "leaked-pair",
        "severity": "defect",
        "file": str(tmp_path / "b.jsonl"),
        "line": 1,
        "question_id": "Q1",
        "candidate_id": "Q1-0",
        "message": f"question and candidate also in {tmp_path / 'a.tsv'}:3",
    }
    assert tuple(rows[0]) == COLUMNS


def test_stdin_with_format() -> None:
    result = run("-", "--input-format", "tsv", "--format", "tsv", given=UNSOUND)
    assert result.exit_code == 0
    assert "no-positive\tdefect\t-\t2\t1\t-\t" in result.stdout


def test_file_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(SOUND)
    result = run(tmp_path / "a.tsv", tmp_path / "a.tsv")
    assert isinstance(result.exception, UsageError)


def test_unreadable_file_is_an_error_even_without_strict(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(SOUND.replace("\t0", "\t2"))
    result = run(tmp_path / "a.tsv")
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith(f"{tmp_path / 'a.tsv'}:3: expected label 0 or 1")


def write_pair(folder: Path) -> tuple[Path, Path]:
    (folder / "train.tsv").write_text(SOUND)
    (folder / "test.tsv").write_text(SOUND.replace("Who?", "WHO").replace("He.", "He did it, as everyone knows."))
    return folder / "train.tsv", folder / "test.tsv"


def test_overlap_of_training_and_held_out_data(tmp_path: Path) -> None:
    train, test = write_pair(tmp_path)
    result = run("--train", train, "--against", test)
    assert result.exit_code == 0
    assert [str(train), str(test), "1", "1", "0", "1", "0", "0", "0"] in [
        line.split() for line in result.stdout.splitlines()
    ]
    assert result.stderr.endswith("note: 1 pairs of training and held-out data compared, 0 of them share nothing\n")


def test_overlap_as_json_lists_both_places(tmp_path: Path) -> None:
    train, test = write_pair(tmp_path)
    [row] = json.loads(run("--train", train, "--against", test, "--format", "json").stdout)
    assert tuple(row) == OVERLAP_COLUMNS
    assert (row["kind"], row["question_id"], row["train_question_id"], row["text"]) == (
        "question-same",
        "1",
        "1",
        "WHO",
    )
    assert run("--train", train, "--against", test, "--format", "jsonl", "--limit", 0).stdout == ""


def test_strict_overlap_fails_with_exit_code_5(tmp_path: Path) -> None:
    train, test = write_pair(tmp_path)
    result = run("--train", train, "--against", test, "--strict")
    assert isinstance(result.exception, DataError)
    assert "got 1 shared texts" in str(result.exception)
    test.write_text(UNSOUND.replace("Who?", "Whose?"))
    assert run("--train", train, "--against", test, "--strict").exit_code == 0


def test_files_and_overlap_do_not_go_together(tmp_path: Path) -> None:
    train, test = write_pair(tmp_path)
    assert isinstance(run(train, "--train", train, "--against", test).exception, UsageError)
    assert isinstance(run().exception, UsageError)
    assert isinstance(run("--against", test).exception, UsageError)


def test_data_set_of_several_splits_is_audited_whole_or_by_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    (tmp_path / "wikiqa").mkdir()
    header = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    for split in ("train", "dev"):
        row = f"Q{split}\twho is {split}?\tD1\tBell\tD1-0\tBell is {split}.\t1\n"
        (tmp_path / "wikiqa" / f"WikiQA-{split}.tsv").write_text(header + row)
    whole = run("wikiqa", "--data-dir", tmp_path)
    assert [line.split(":")[1].strip() for line in whole.stderr.splitlines()] == ["wikiqa/train", "wikiqa/dev"]
    one = run("wikiqa", "--split", "dev", "--data-dir", tmp_path)
    assert one.stderr == "note: wikiqa/dev: 1 questions, 1 candidates, 1 defects, 0 remarks\n"


def test_one_split_of_a_pickle_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "two.pkl"
    path.write_bytes(pickle.dumps({"train": {"Who?": [["He.", 1]]}, "dev": {"When?": [["Now.", 1], ["It.", 0]]}}))
    result = run(path, "--split", "dev")
    assert result.stderr == f"note: {path}/dev: 1 questions, 2 candidates, 0 defects, 0 remarks\n"
    refused = run(path)
    assert isinstance(refused.exception, UsageError)
    assert "name one of train, dev" in str(refused.exception)
