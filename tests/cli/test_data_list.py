from __future__ import annotations

import json
from pathlib import Path

import pytest

from anselect.cli.data_list import list_data
from anselect.cli.output import OutputFormat
from anselect.data.catalogue import dataset_names
from anselect.errors import MissingFileError

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQA-dev.tsv").write_text(HEADER + "Q1\twho?\tD1\tBell\tD1-0\tBell.\t1\n")


def test_list_shows_what_is_found_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_data(data_dir=tmp_path, output_format=OutputFormat.json)
    captured = capsys.readouterr()
    rows = {row["data"]: row for row in json.loads(captured.out)}
    assert tuple(rows) == dataset_names()
    wikiqa = rows["wikiqa"]
    assert (wikiqa["found"], wikiqa["missing"]) == (["dev"], ["train", "test"])
    assert wikiqa["where"] == [str(tmp_path / "wikiqa")]
    assert wikiqa["licence"] == "Microsoft Research Data License Agreement"
    assert wikiqa["homepage"].startswith("https://www.microsoft.com/")
    assert "EMNLP 2015" in wikiqa["citations"][0]
    assert rows["trecqa"]["found"] == []
    assert f"searched in {tmp_path}, " in captured.err


def test_list_as_table_and_tsv_joins_the_splits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_data(data_dir=tmp_path, output_format=OutputFormat.tsv)
    header, wikiqa, *_ = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["data", "title", "found", "missing", "where", "licence"]
    assert wikiqa.split("\t")[2:4] == ["dev", "train, test"]
    list_data(data_dir=tmp_path, output_format=OutputFormat.table)
    assert "train, test" in capsys.readouterr().out


def test_named_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="check --data-dir"):
        list_data(data_dir=tmp_path / "nowhere")
