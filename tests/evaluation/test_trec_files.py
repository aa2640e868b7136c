from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.formats.qrels import write_qrels
from anselect.data.protocols import PROTOCOLS
from anselect.errors import DataError, MissingFileError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.run_scores import read_run_scores
from anselect.evaluation.trec_files import read_qrels, read_run, separate_scores, write_run
from anselect.records import Candidate, Question


def make_question(name: str, labels: list[int]) -> Question:
    return Question(
        name, f"{name}?", tuple(Candidate(f"{name}-{place}", "text", own) for place, own in enumerate(labels))
    )


QUESTIONS = [make_question("q1", [1, 0, 0]), make_question("q2", [0, 1])]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return tmp_path / "run.trec"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 -1e-3 tag\n", id="trec"),
        pytest.param("q1\tQ0\ta\t1\t0.5\ttag\nq1\tQ0\tb\t2\t-1e-3\ttag\n", id="trec_with_tabs"),
        pytest.param("q1 Q0 a 1 0.5\nq1 Q0 b 2 -1e-3\n", id="trec_without_tag"),
        pytest.param("q1 Q0 a 1 0.5 a tag of words\nq1 Q0 b 2 -1e-3 x\n", id="trec_with_long_tag"),
        pytest.param("# a comment\n\nq1 Q0 a 7 0.5 tag\n#\nq1 Q0 b 7 -1e-3 tag\n", id="comments_and_wrong_ranks"),
        pytest.param("q1\ta\t0.5\nq1\tb\t-1e-3\n", id="table"),
        pytest.param("question_id\tcandidate_id\tscore\nq1\ta\t0.5\nq1\tb\t-0.001", id="table_with_header"),
        pytest.param("\ufeffq1\ta\t0.5\r\nq1\tb\t-0.001\r\n", id="table_with_bom_and_crlf"),
    ],
)
def test_read_run_accepts(run_file: Path, text: str) -> None:
    run_file.write_text(text, encoding="utf-8", newline="")
    found = [entry[1:] for entry in read_run(run_file)]
    assert found == [("q1", "a", 0.5), ("q1", "b", -0.001)]


def test_read_run_keeps_blanks_in_the_ids_of_a_table(run_file: Path) -> None:
    run_file.write_text("my question\tan answer\t1\n", encoding="utf-8")
    assert [entry[1:3] for entry in read_run(run_file)] == [("my question", "an answer")]


def test_read_run_reads_gzip(run_file: Path) -> None:
    run_file.write_bytes(gzip.compress(b"q1 Q0 a 1 0.5 tag\n"))
    assert [entry.line for entry in read_run(run_file)] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "q1 Q0 a 1 0.5 t\nq1 a 0.5\n", r"run.trec:2: expected 'question_id Q0 .* got 'q1 a 0.5'", id="short"
        ),
        pytest.param("q1\ta\t1\nq1\ta\t1\t2\n", r"run.trec:2: expected 'question_id Q0", id="table_with_four_columns"),
        pytest.param("q1 Q0 a 1 high t\n", r"run.trec:1: question 'q1', candidate 'a': .* got 'high'", id="word"),
        pytest.param("q1\ta\tnan\n", r"run.trec:1: question 'q1', candidate 'a': expected a finite", id="nan"),
        pytest.param("q1\ta\t-inf\n", r"run.trec:1: .*expected a finite score, got '-inf'", id="infinite"),
        pytest.param("", r"run.trec:1: expected lines, got an empty file", id="empty"),
        pytest.param("# only a comment\n\n", r"run.trec:1: expected lines, got an empty file", id="comments_only"),
        pytest.param(
            "# a comment\nquestion_id\tcandidate_id\tscore\n\n",
            r"run.trec:2: expected scores after the header, got the end of the file: is this the right one\?",
            id="header_only",
        ),
        pytest.param("q1 Q0 a 1 \0 t\n", r"run.trec:1: expected text, got binary", id="binary"),
    ],
)
def test_read_run_refuses(run_file: Path, text: str, message: str) -> None:
    run_file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(read_run(run_file))


def test_read_run_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        list(read_run(tmp_path / "absent"))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_separated_scores_fall_strictly_in_single_precision(scores: list[float]) -> None:
    falling = sorted(scores, reverse=True)
    separated = separate_scores(falling)
    printed = np.array([float(str(score)) for score in separated], dtype=np.float32)
    assert (printed == separated).all()
    assert (np.diff(printed.astype(np.float64)) < 0).all()
    assert np.isfinite(printed).all()


def test_separated_scores_stay_where_they_are_if_they_can() -> None:
    assert separate_scores([0.75, 0.5, -2.0]).tolist() == [0.75, 0.5, -2.0]
    assert separate_scores([0.0, 0.0]).tolist()[1] == -np.nextafter(np.float32(0), np.float32(1))


@settings(deadline=None, max_examples=20)
@given(scores=st.lists(st.integers(0, 3).map(float), min_size=5, max_size=5))
def test_written_run_gives_every_tool_the_same_ranking(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "run", QUESTIONS, [scores[:3], scores[3:]], tag="my tag", provenance={"model": "a b"})
    write_qrels(QUESTIONS, folder / "qrels")
    with (folder / "run").open() as run, (folder / "qrels").open() as qrels:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {"map"})
        theirs = evaluator.evaluate(pytrec_eval.parse_run(run))
    ours = read_run_scores(folder / "run", QUESTIONS)
    for protocol in ("answerable", "trec_eval", "cete", "tanda"):
        evaluation = evaluate_scores(QUESTIONS, ours.scores, protocol=PROTOCOLS[protocol])
        assert evaluation.tied_pairs == 0
        for question_id, values in evaluation.per_question.items():
            assert values["MAP"] == pytest.approx(theirs[question_id]["map"], abs=1e-12)


def test_written_run_says_where_it_comes_from_and_how_many_ties_it_broke(run_file: Path) -> None:
    write_run(run_file, QUESTIONS, [[1, 1, 1], [0.5, None]], tag="bm25", provenance={"data": "wikiqa test"})
    lines = run_file.read_text().splitlines()
    assert lines[0] == "# Q0 data=wikiqa_test;tied_pairs=3 0 0 bm25"
    assert lines[-1] == "q2 Q0 q2-0 1 0.5 bm25"
    assert len(lines) == 1 + 3 + 1


def test_written_run_does_not_leak_the_order_of_the_file(run_file: Path) -> None:
    # All correct candidates stand first, as in TrecQA: a constant scorer must not profit.
    questions = [make_question(f"q{number}", [1] * 3 + [0] * 17) for number in range(200)]
    write_run(run_file, questions, [[0.0] * 20] * 200, tag="constant", provenance={})
    scores = read_run_scores(run_file, questions).scores
    written = evaluate_scores(questions, scores, protocol=PROTOCOLS["answerable"]).measures["MAP"].value
    expected = evaluate_scores(questions, [[0.0] * 20] * 200, protocol=PROTOCOLS["answerable"]).measures["MAP"].value
    assert written == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("identifier", ["a b", "a\tb", "", "#a", "a\u00a0b"])
def test_ids_that_a_trec_file_cannot_hold_are_refused(run_file: Path, identifier: str) -> None:
    question = Question(identifier, "?", (Candidate("c", "text", 1),))
    with pytest.raises(DataError, match="expected an id without white space"):
        write_run(run_file, [question], [[1.0]], tag="t", provenance={})
    with pytest.raises(DataError, match="expected an id without white space"):
        write_qrels([question], run_file)
    assert not run_file.exists()


def test_score_that_is_not_finite_is_not_written(run_file: Path) -> None:
    with pytest.raises(DataError, match="question 'q2', candidate 'q2-1': expected a finite score, got nan"):
        write_run(run_file, QUESTIONS, [[1, 2, 3], [0, float("nan")]], tag="t", provenance={})


def test_qrels_round_trip(tmp_path: Path) -> None:
    write_qrels(QUESTIONS, tmp_path / "qrels.gz")
    assert read_qrels(tmp_path / "qrels.gz") == {"q1": {"q1-0": 1, "q1-1": 0, "q1-2": 0}, "q2": {"q2-0": 0, "q2-1": 1}}


def test_qrels_grades_count_as_correct_or_not(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 2\nq 0 b -1\nq 0 c 0\n")
    assert read_qrels(tmp_path / "qrels") == {"q": {"a": 1, "b": 0, "c": 0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 a\n", "qrels:1: expected"),
        ("q 0 a good\n", "qrels:1: expected"),
        ("q 0 a 1\nq 0 a 0\n", "qrels:2: .*second"),
    ],
)
def test_qrels_refuses(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(DataError, match=message):
        read_qrels(tmp_path / "qrels")
