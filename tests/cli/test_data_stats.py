from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anselect.cli.data_stats import stats
from anselect.cli.output import OutputFormat
from anselect.errors import MissingFileError, UsageError

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
ROWS = "Q1\twho?\tD1\tBell\tD1-0\tBell.\t1\nQ1\twho?\tD1\tBell\tD1-1\tNo.\t0\nQ2\twhat?\tD2\tTea\tD2-0\tHot.\t0\n"
KEYS = {
    *("data", "split", "version", "questions", "candidates", "positives", "no_positive", "all_positive"),
    *("published_questions", "published_candidates", "without_candidates"),
}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQA-dev.tsv").write_text(HEADER + ROWS)
    return tmp_path


def run_json(capsys: pytest.CaptureFixture[str], names: list[str] | None, folder: Path) -> tuple[list[Any], str]:
    stats(names, data_dir=folder, output_format=OutputFormat.json)
    captured = capsys.readouterr()
    rows: list[Any] = json.loads(captured.out)
    return rows, captured.err


def test_json_has_a_row_for_each_version(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (raw, clean), notes = run_json(capsys, None, small)
    assert raw.keys() >= KEYS
    assert [raw[key] for key in ("data", "split", "version", "questions", "candidates")] == [
        "wikiqa",
        "dev",
        "raw",
        2,
        3,
    ]
    assert [raw[key] for key in ("positives", "no_positive", "all_positive")] == [1, 1, 0]
    assert (raw["published_questions"], raw["published_candidates"]) == (296, 2733)
    assert (raw["matches_published"], raw["source"], raw["hash"]) == (False, "original", "changed")
    assert [clean[key] for key in ("version", "questions", "candidates")] == ["clean", 1, 2]
    assert "warning: * wikiqa dev (raw): expected questions 296, got 2" in notes
    assert "WikiQA-dev.tsv: not the recorded sha256" in notes
    assert "not on this machine: wikiqa train, wikiqa test, trecqa train-all" in notes


def test_table_marks_rows_with_remarks(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats(["wikiqa"], data_dir=small, output_format=OutputFormat.table)
    captured = capsys.readouterr()
    (row,) = [line for line in captured.out.splitlines() if " raw " in line]
    assert row.split() == ["wikiqa", "dev", "raw", "2", "0", "3", "1", "1", "0", "296", "/", "2733", "*"]
    assert "not on this machine: wikiqa train, wikiqa test;" in captured.err


def test_tsv_has_the_same_columns_in_each_row(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats(["wikiqa"], data_dir=small, output_format=OutputFormat.tsv)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:4] == ["data", "split", "version", "questions"]
    assert {len(line) for line in lines} == {len(lines[0])}


def test_pair_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "semeval2017").mkdir()
    pairs = "question_id\tquestion\tanswer_id\tanswer\tlabel\tlabel_raw\nQ1\tJobs any?\tQ1_C1\tYes.\t1\tGood\n"
    (tmp_path / "semeval2017" / "test.tsv").write_text(pairs)
    (row,), notes = run_json(capsys, ["semeval2017"], tmp_path)
    assert row["source"] == "normalised"
    assert "read from pair files, for want of the publisher's: semeval2017 test" in notes


@pytest.mark.parametrize("names", [None, ["trecqa"]])
def test_nothing_found_is_an_error_that_says_what_to_do(tmp_path: Path, names: list[str] | None) -> None:
    with pytest.raises(MissingFileError, match="anselect data fetch"):
        stats(names, data_dir=tmp_path)


def test_unknown_name_is_an_error(small: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'trecqa'"):
        stats(["wikiqa", "trec-qa"], data_dir=small)


def test_real_files_stand_beside_the_papers(
    benchmark_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, file in (("trecqa", "TEST.xml"), ("semeval2015", "CQA-QL-devel.xml")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).symlink_to(benchmark_data / "original" / name / file)
    rows, notes = run_json(capsys, ["trecqa", "semeval2015"], tmp_path)
    found = {(row["data"], row["split"], row["version"]): row for row in rows}
    raw, clean = found["trecqa", "test", "raw"], found["trecqa", "test", "clean"]
    assert (raw["questions"], raw["without_candidates"], raw["published_questions"]) == (95, 5, 100)
    assert (clean["questions"], clean["candidates"], clean["published_candidates"]) == (68, 1442, 1442)
    assert {"source": "BAS Table 4", "questions": 68, "candidates": 1142} in clean["published"]
    assert raw["hash"] == "published"
    assert found["semeval2015", "dev", "raw"]["hash"] == "copy"
    assert "* trecqa test (raw): 100 counts the blocks of the file; 5 of them have no candidate" in notes
    assert "warning" not in notes
    assert "every user name replaced" in notes
    assert len(found) == 3
