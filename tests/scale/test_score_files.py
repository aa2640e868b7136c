from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.errors import DataError, UsageError
from anselect.records import Question, ScoredQuestions
from anselect.scale.score_files import ScoredFile, ScoreOptions, score_file
from anselect.scale.scored_rows import rank_scores

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


class LengthSelector:
    """Scores a candidate by its length, in a way that can be computed by hand: n letters give n / 100."""

    def __init__(self, description: str = "length", fail_after: int | None = None) -> None:
        self.description, self._left = description, fail_after
        self.scored = 0

    def score_questions(self, questions: Sequence[Question]) -> ScoredQuestions:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
        self.scored += sum(len(question.candidates) for question in questions)
        return ScoredQuestions([[len(each.text) / 100 for each in question.candidates] for question in questions], 1)


TSV = "question\tcandidate\tnote\nWho?\tBell.\tx\nWho?\tHe.\t\nWhen?\tNow.\ty\nWho?\tMe.\tz\n"


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def score(source: Path, target: Path, selector: LengthSelector | None = None, **options: Any) -> ScoredFile:
    return score_file(selector or LengthSelector(), source, target, ScoreOptions(**options))


def test_tsv_rows_get_score_and_rank_and_keep_their_order(tmp_path: Path) -> None:
    scored = score(put(tmp_path / "a.tsv", TSV), tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text() == (
        "question\tcandidate\tnote\tscore\trank\n"
        "Who?\tBell.\tx\t0.05\t1\nWho?\tHe.\t\t0.03\t2\nWhen?\tNow.\ty\t0.04\t1\nWho?\tMe.\tz\t0.03\t1\n"
    )
    assert scored == ScoredFile(rows=4, questions=3, resumed_rows=0, cut_candidates=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tsv", "b.tsv"]


def test_header_alone_gives_a_header(tmp_path: Path) -> None:
    score(put(tmp_path / "a.tsv", "question\tcandidate\n"), tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text() == "question\tcandidate\tscore\trank\n"


def test_row_without_candidate_stays_without_score(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tsv", "question_id\tquestion\tcandidate_id\tcandidate\n1\tWho?\t\t\n2\tWhy?\ta\tSo.\n")
    score(source, tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text().splitlines()[1:] == ["1\tWho?\t\t\t\t", "2\tWhy?\ta\tSo.\t0.03\t1"]


def test_csv_with_quotes_and_line_ends(tmp_path: Path) -> None:
    source = put(tmp_path / "a.csv", 'question,candidate\r\n"Who, then?","Bell\n""did"""\r\n')
    score(source, tmp_path / "b.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "b.csv").read_bytes().decode(), newline="")))
    assert rows == [["question", "candidate", "score", "rank"], ["Who, then?", 'Bell\n"did"', "0.1", "1"]]


NESTED = [
    {"id": "q", "question": "Who?", "candidates": [{"text": "He.", "page": 3}, "Bell."], "topic": ["x"]},
    {"query": "Why?", "candidates": []},
]


def test_nested_jsonl_keeps_its_objects(tmp_path: Path) -> None:
    source = put(tmp_path / "a.jsonl", "".join(json.dumps(each) + "\n" for each in NESTED))
    score(source, tmp_path / "b.jsonl")
    assert [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()] == [
        {
            "id": "q",
            "question": "Who?",
            "topic": ["x"],
            "candidates": [
                {"text": "He.", "page": 3, "score": 0.03, "rank": 2},
                {"text": "Bell.", "score": 0.05, "rank": 1},
            ],
        },
        {"query": "Why?", "candidates": []},
    ]


def test_nested_jsonl_becomes_rows_elsewhere(tmp_path: Path) -> None:
    source = put(tmp_path / "a.jsonl", "".join(json.dumps(each) + "\n" for each in NESTED))
    scored = score(source, tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text().splitlines() == [
        "question_id\tquestion\tcandidate_id\tcandidate\tlabel\tscore\trank",
        "q\tWho?\tq-0\tHe.\t\t0.03\t2",
        "q\tWho?\tq-1\tBell.\t\t0.05\t1",
        "Q2\tWhy?\t\t\t\t\t",
    ]
    assert (scored.rows, scored.questions) == (3, 2)


def test_judged_texts_get_room_for_scores(tmp_path: Path) -> None:
    source = put(tmp_path / "a.jsonl", '{"query": "Who?", "positive": ["Bell."], "negative": ["He."]}\n')
    score(source, tmp_path / "b.jsonl")
    value = json.loads((tmp_path / "b.jsonl").read_text())
    assert [(each["text"], each["label"], each["rank"]) for each in value["candidates"]] == [
        ("Bell.", 1, 1),
        ("He.", 0, 2),
    ]


def test_flat_jsonl_keeps_types_and_other_keys(tmp_path: Path) -> None:
    rows = [{"question": "Who?", "answer": "He.", "label": 1}, {"question": "Who?", "answer": "Bell.", "page": 7}]
    source = put(tmp_path / "a.jsonl", "".join(json.dumps(each) + "\n" for each in rows))
    score(source, tmp_path / "b.jsonl.gz")
    lines = gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        rows[0] | {"score": 0.03, "rank": 2},
        rows[1] | {"score": 0.05, "rank": 1},
    ]
    with pytest.raises(DataError, match="expected the keys question, answer, label, got question, answer, page"):
        score(source, tmp_path / "b.tsv")


def test_parquet_in_and_out(tmp_path: Path) -> None:
    table = pyarrow.table(
        {"question": ["Who?", "Who?"], "candidate": ["He.", "Bell."], "label": [0, None], "n": [5, 6]}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    score(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert parquet.read_table(tmp_path / "b.parquet").to_pylist() == [
        {"question": "Who?", "candidate": "He.", "label": 0, "n": "5", "score": 0.03, "rank": 2},
        {"question": "Who?", "candidate": "Bell.", "label": None, "n": "6", "score": 0.05, "rank": 1},
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]
    score(tmp_path / "a.parquet", tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text().splitlines()[1] == "Who?\tHe.\t0\t5\t0.03\t2"


def test_half_surrogates(tmp_path: Path) -> None:
    source = put(tmp_path / "a.jsonl", '{"question": "Who?", "candidate": "\\ud800"}\n')
    score(source, tmp_path / "b.jsonl")
    assert json.loads((tmp_path / "b.jsonl").read_text())["candidate"] == "\ud800"
    score(source, tmp_path / "b.tsv")
    assert "\ufffd" in (tmp_path / "b.tsv").read_text(encoding="utf-8")


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3])))
def test_ranks_order_scores_and_keep_ties(scores: list[float]) -> None:
    ranks = rank_scores(scores)
    assert sorted(ranks) == list(range(1, len(scores) + 1))
    by_rank = sorted(range(len(scores)), key=lambda place: ranks[place])
    assert by_rank == sorted(range(len(scores)), key=lambda place: -scores[place])


def many(questions: int) -> str:
    rows = [f"{n}\tQuestion {n}?\t{'x' * (k % 7 + 1)}" for n in range(questions) for k in range(n % 5 + 1)]
    return "question_id\tquestion\tcandidate\n" + "".join(row + "\n" for row in rows)


@pytest.mark.parametrize("ending", ["tsv", "tsv.gz", "csv", "jsonl", "parquet"])
def test_broken_off_anywhere_it_goes_on_and_scores_nothing_twice(ending: str, tmp_path: Path) -> None:
    source = put(tmp_path / "a.tsv", many(40))
    whole = tmp_path / f"whole.{ending}"
    total = score(source, whole, chunk_rows=10).rows
    target, scored, breaks = tmp_path / f"b.{ending}", 0, 0
    while not target.exists():
        selector = LengthSelector(fail_after=2)
        try:
            resumed = score(source, target, selector, chunk_rows=10).resumed_rows
        except KeyboardInterrupt:
            breaks += 1
            with (tmp_path / f"b.{ending}.part").open("ab") as part:
                part.write(b"a row that was cut off")  # What a kill in the middle of writing leaves behind.
        scored += selector.scored
    assert breaks >= 3
    assert 0 < resumed < total
    assert scored == total
    assert target.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.tsv", whole.name, target.name])


def broken_off(tmp_path: Path) -> tuple[Path, Path]:
    source, target = put(tmp_path / "a.tsv", many(20)), tmp_path / "b.tsv"
    with pytest.raises(KeyboardInterrupt):
        score(source, target, LengthSelector(fail_after=2), chunk_rows=10)
    assert not target.exists()
    return source, target


@pytest.mark.parametrize("changed", ["input", "model", "format"])
def test_other_input_model_or_format_begins_anew(
    changed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, target = broken_off(tmp_path)
    if changed == "input":
        put(source, many(20).replace("xxx", "xyz"))
        os.utime(source, ns=(1, 1))
    model = LengthSelector("another" if changed == "model" else "length")
    with caplog.at_level(logging.WARNING):
        scored = score(source, target, model, chunk_rows=11 if changed == "format" else 10)
    assert caplog.messages == [f"{target}.part: begun anew: another {changed}"]
    assert scored.resumed_rows == 0
    assert model.scored == scored.rows == 60


@pytest.mark.parametrize("damage", ["journal", "part"])
def test_damaged_remains_begin_anew(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source, target = broken_off(tmp_path)
    path = target.with_name(f"b.tsv.{damage}")
    path.write_bytes(path.read_bytes()[:20])
    assert score(source, target, chunk_rows=10).resumed_rows == 0
    assert "begun anew" in caplog.messages[0]
    assert target.read_text().count("\n") == 61


def test_bad_row_names_its_line_and_keeps_what_is_finished(tmp_path: Path) -> None:
    source, target = put(tmp_path / "a.tsv", many(20) + "9\tlost\n"), tmp_path / "b.tsv"
    for _ in range(2):
        selector = LengthSelector()
        with pytest.raises(DataError, match=r"a\.tsv:62: expected 3 cells"):
            score(source, target, selector, chunk_rows=10)
    assert selector.scored == 0
    assert not target.exists()
    assert json.loads((tmp_path / "b.tsv.journal").read_bytes())["done"]["rows"] >= 50


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header line"),
        ("question\tcandidate\n \tHe.\n", r":2: expected a question, got blank text"),
        ("question\tcandidate\tscore\nWho?\tHe.\t1\n", r":1: expected no score or rank in the input"),
        ("question_id\tquestion\tcandidate\n1\tWho?\tHe.\n1\tWhy?\tSo.\n", r":3: expected one text for question '1'"),
        ("question\tcandidate\tlabel\nWho?\tHe.\t2\n", r":2: expected label 0 or 1"),
    ],
)
def test_bad_input(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        score(put(tmp_path / "a.tsv", text), tmp_path / "b.tsv")
    assert not (tmp_path / "b.tsv").exists()


def test_formats_that_cannot_be_scored(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tsv", TSV)
    with pytest.raises(UsageError, match=r"expected a format that can be scored"):
        score(source, tmp_path / "b.tsv", input_format="wikiqa")
    with pytest.raises(UsageError, match="expected an output format among tsv, csv, jsonl, parquet, got toks"):
        score(source, tmp_path / "b.tsv", output_format="toks")
    with pytest.raises(UsageError, match="expected plain files to make parquet"):
        score(source, tmp_path / "b.parquet.gz")
    with pytest.raises(UsageError, match="expected another file to write to"):
        score(source, source)


def test_second_process_on_the_same_output_is_refused(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "b.tsv.part").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is writing it"):
            score(put(tmp_path / "a.tsv", TSV), tmp_path / "b.tsv")


def test_progress_counts_rows(tmp_path: Path) -> None:
    seen: list[int] = []
    score(put(tmp_path / "a.tsv", TSV), tmp_path / "b.tsv", chunk_rows=2, progress=seen.append)
    assert seen == [2, 4]


SLOW_RUN = """
import sys, time
from pathlib import Path
from anselect.records import ScoredQuestions
from anselect.scale.score_files import ScoreOptions, score_file

class Slow:
    description = "length"

    def score_questions(self, questions):
        time.sleep(0.05)
        return ScoredQuestions([[len(each.text) / 100 for each in question.candidates] for question in questions], 1)

score_file(Slow(), Path(sys.argv[1]), Path(sys.argv[2]), ScoreOptions(chunk_rows=10))
"""


def finished_rows(journal: Path) -> int:
    return int(json.loads(journal.read_bytes())["done"]["rows"]) if journal.exists() else 0


def kill_after_progress(source: Path, target: Path) -> None:
    """Start a scoring in a process of its own and kill it when it has finished some chunks more."""
    journal = target.with_name(f"{target.name}.journal")
    before = finished_rows(journal)
    process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(source), str(target)])
    while process.poll() is None and finished_rows(journal) < before + 30:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_process_loses_and_doubles_nothing(tmp_path: Path) -> None:
    rows = [f"{n}\tWho rang {n}?\tbell {k} rang {n + k}" for n in range(120) for k in range(4)]
    source = put(tmp_path / "a.tsv", "question_id\tquestion\tcandidate\n" + "".join(row + "\n" for row in rows))
    selector, options = LengthSelector(), ScoreOptions(chunk_rows=10)
    score_file(selector, source, tmp_path / "whole.tsv", options)
    for _ in range(3):
        kill_after_progress(source, tmp_path / "b.tsv")
    scored = score_file(selector, source, tmp_path / "b.tsv", options)
    assert 90 <= scored.resumed_rows < scored.rows == 480
    assert (tmp_path / "b.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()
