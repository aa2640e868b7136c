from __future__ import annotations

import json
from pathlib import Path

import pytest

from anselect.data.protocols import PROTOCOLS
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.labelled_data import LabelledData, read_labelled_questions
from anselect.evaluation.per_question import write_per_question
from anselect.evaluation.report import build_reports, warn_of_labels
from anselect.records import Candidate, Question

QUESTIONS = [
    Question(
        "q1", "Who\tran?", (Candidate("a", "He ran.", 1), Candidate("b", "No.", 0), Candidate("c", "Yes, so.", 0))
    ),
    Question("q2", "Where?", (Candidate("a", "Here.", 0),)),
]
DATA = LabelledData(None, "own.tsv", "test", QUESTIONS)


def test_report_as_json_has_the_promised_keys() -> None:
    report = build_reports(DATA, [[1.0, 1.0, 0.0], [None]], [PROTOCOLS["every"]])[0].as_json()
    assert list(report)[:5] == ["data", "split", "protocol", "questions", "candidates"]
    assert (report["data"], report["protocol"], report["questions"], report["candidates"]) == ("own.tsv", "every", 2, 4)
    assert (report["tied_pairs"], report["missing_candidates"]) == (1, 1)
    assert report["measures"]["MAP"] == {"value": 0.375, "worst": 0.25, "best": 0.5}
    assert set(report["baselines"]) >= {"constant", "file order", "shortest", "longest", "IDF overlap"}
    assert set(report["baselines"]["constant"]) == {"MAP", "MRR"}
    assert report["published"] == []
    assert json.loads(json.dumps(report)) == report


def test_baselines_follow_the_protocol() -> None:
    reports = build_reports(DATA, [[3.0, 2.0, 1.0], [0.0]], [PROTOCOLS["answerable"], PROTOCOLS["tanda"]])
    means = [report.baselines["constant"]["MAP"].value for report in reports]
    assert means == [pytest.approx((1 + 1 / 2 + 1 / 3) / 3), 1.0]


def test_worthless_protocol_carries_its_warning() -> None:
    report = build_reports(DATA, [[1.0, 2.0, 3.0], [0.0]], [PROTOCOLS["cete"]])[0].as_json()
    assert "worthless" in report["warning"]
    assert "constant scorer gets MAP 1.000" in report["warning"]


def test_scores_that_look_like_labels_are_told_the_size_of_the_effect() -> None:
    warning = warn_of_labels(DATA, [[1, 1, 0], [0]], PROTOCOLS["answerable"])
    assert "each is 0 or 1" in warning
    assert "MAP is 0.7500 on average over tie orders and 0.5000 at worst" in warning
    assert "would print 1.0000" in warning


@pytest.mark.parametrize("name", ["every", "trec_eval"])
def test_size_of_the_effect_is_that_of_the_chosen_questions(name: str) -> None:
    warning = warn_of_labels(DATA, [[1, 1, 0], [0]], PROTOCOLS[name])
    assert "MAP is 0.3750 on average over tie orders and 0.2500 at worst" in warning
    assert f"would print 0.5000 (protocol {name}); give" in warning


@pytest.mark.parametrize("scores", [[[0.1, 0.2, 0.3], [0.1]], [[0.1, 0.1, 0.2], [0.3]], [[None, None, None], [None]]])
def test_other_scores_are_not_taken_for_labels(scores: list[list[float | None]]) -> None:
    assert warn_of_labels(DATA, scores, PROTOCOLS["answerable"]) == ""


def test_two_values_without_ties_are_no_labels() -> None:
    data = LabelledData(None, "own.tsv", "test", [Question("q", "?", QUESTIONS[0].candidates[:2])])
    assert warn_of_labels(data, [[0.3, 0.7]], PROTOCOLS["answerable"]) == ""


def test_per_question_tsv_has_one_line_per_question(tmp_path: Path) -> None:
    evaluation = evaluate_scores(
        QUESTIONS, [[1, 1, 2], [0]], protocol=PROTOCOLS["every"], measures=("MAP", "MRR", "P@1")
    )
    write_per_question(tmp_path / "out.tsv", QUESTIONS, [evaluation])
    lines = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert lines[0] == [
        "protocol",
        "question_id",
        "question",
        "candidates",
        "correct",
        "first_correct",
        "AP",
        "RR",
        "P@1",
    ]
    assert lines[1][:6] == ["every", "q1", "Who ran?", "3", "1", "2.5"]
    assert [float(cell) for cell in lines[1][6:]] == pytest.approx([5 / 12, 5 / 12, 0])
    assert lines[2] == ["every", "q2", "Where?", "1", "0", "", "0.0", "0.0", "0.0"]


def test_per_question_jsonl_by_extension(tmp_path: Path) -> None:
    evaluation = evaluate_scores(QUESTIONS, [[3, 1, 2], [0]], protocol=PROTOCOLS["answerable"], measures=("MAP",))
    write_per_question(tmp_path / "out.jsonl", QUESTIONS, [evaluation])
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["question"], row["AP"], row["first_correct"]) for row in rows] == [("Who\tran?", 1.0, 1.0)]


def test_own_file_is_read_whatever_the_split_is_called(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("question\tcandidate\tlabel\nWho?\tHe.\t1\nWho?\tIt.\t0\n", encoding="utf-8")
    found = read_labelled_questions(str(path), "test")
    assert (found.name, len(found.questions), found.questions[0].positives) == (None, 1, 1)


def test_data_that_is_neither_a_name_nor_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="'wikqa' is neither a data set nor a file: data sets are wikiqa"):
        read_labelled_questions("wikqa", "test")


@pytest.mark.parametrize("name", ["nosuchdir", "nosuch.tsv"])
def test_path_to_nothing_is_a_missing_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file, expected one to read: check the path"):
        read_labelled_questions(str(tmp_path / name), "test")


def test_file_without_questions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("question\tcandidate\tlabel\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"own\.tsv: expected at least one question, got none: is this the right file\?"
    ):
        read_labelled_questions(str(path), "test")
