from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from anselect.data.protocols import PROTOCOLS
from anselect.evaluation.baselines import BASELINES, baseline_scores
from anselect.evaluation.evaluate import evaluate_scores
from anselect.records import Candidate, Question

LN = math.log


def make_question(name: str, text: str, *candidates: str) -> Question:
    return Question(name, text, tuple(Candidate(str(place), words) for place, words in enumerate(candidates)))


QUESTIONS = [
    make_question("q1", "The red, red fox?", "the fox", "a red fox ran", "RED FOX, the", "cat"),
    make_question("q2", "what", "the the"),
    make_question("q3", "fox"),
]


def test_every_baseline_scores_every_candidate() -> None:
    found = baseline_scores(QUESTIONS)
    assert list(found) == list(BASELINES) == ["constant", "file order", "shortest", "longest", "IDF overlap", "BM25"]
    assert found.skipped == {}
    for scores in found.values():
        assert [len(group) for group in scores] == [4, 1, 0]
        assert all(type(score) is float and math.isfinite(score) for group in scores for score in group)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("constant", [[0, 0, 0, 0], [0], []]),
        ("file order", [[0, -1, -2, -3], [0], []]),
        ("shortest", [[-2, -4, -3, -1], [-2], []]),
        ("longest", [[2, 4, 3, 1], [2], []]),
    ],
)
def test_baseline_without_statistics(name: str, expected: list[list[float]]) -> None:
    assert baseline_scores(QUESTIONS)[name] == expected


def test_idf_overlap_counts_each_question_word_once_over_the_whole_file() -> None:
    # 5 candidates in the file; "the" stands in 3 of them, "red" in 2, "fox" in 3, "what" in none.
    the, red, fox = LN(5 / 3), LN(5 / 2), LN(5 / 3)
    expected = [[the + fox, red + fox, the + red + fox, 0.0], [0.0], []]
    assert [pytest.approx(group) for group in expected] == baseline_scores(QUESTIONS)["IDF overlap"]


def test_idf_overlap_gives_nothing_for_a_word_in_every_candidate() -> None:
    question = make_question("q", "a b", "a b", "a", "a c")
    assert baseline_scores([question])["IDF overlap"] == [[LN(3), 0.0, 0.0]]


def test_bm25_takes_its_statistics_from_the_whole_file() -> None:
    alone = baseline_scores(QUESTIONS[:1])["BM25"][0]
    within = baseline_scores(QUESTIONS)["BM25"][0]
    assert within[2] > within[0] > within[3] == 0.0
    assert within != alone


@pytest.mark.parametrize("name", ["shortest", "longest", "IDF overlap", "BM25"])
def test_baseline_is_unmoved_by_the_order_of_the_candidates(name: str) -> None:
    question = QUESTIONS[0]
    turned = Question(question.id, question.text, question.candidates[::-1])
    assert baseline_scores([turned])[name][0] == baseline_scores([question])[name][0][::-1]


def test_no_questions_give_no_scores() -> None:
    assert all(scores == [] for scores in baseline_scores([]).values())


def test_missing_library_is_told_and_the_others_still_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    found = baseline_scores(QUESTIONS)
    assert list(found) == ["constant", "file order", "shortest", "longest", "IDF overlap"]
    assert found.skipped == {"BM25": "bm25s is not installed: pip install 'anselect[ask]'"}


def read_questions(path: Path) -> list[Question]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    groups: dict[str, list[list[str]]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return [
        Question(name, group[0][1], tuple(Candidate(row[2], row[3], int(row[4])) for row in group))
        for name, group in groups.items()
    ]


def test_file_order_puts_every_correct_candidate_of_trecqa_first(benchmark_data: Path) -> None:
    questions = read_questions(benchmark_data / "trecqa" / "test-clean.tsv")
    for question, scores in zip(questions, baseline_scores(questions)["file order"], strict=True):
        worst = min(s for s, candidate in zip(scores, question.candidates, strict=True) if candidate.is_correct)
        assert all(s < worst for s, c in zip(scores, question.candidates, strict=True) if not c.is_correct)


@pytest.mark.parametrize(
    ("file", "protocol", "figures"),
    [
        pytest.param(
            "trecqa/test-raw.tsv",
            "clean",
            {"constant": (0.3990, 0.4661), "file order": (1.0, 1.0), "BM25": (0.6984, 0.7911)},
            id="trecqa_clean",
        ),
        pytest.param("trecqa/test-raw.tsv", "raw-89", {"constant": (0.5408, 0.5921)}, id="trecqa_raw_89"),
        pytest.param(
            "wikiqa/test.tsv",
            "243",
            {
                "constant": (0.3992, 0.4071),
                "file order": (0.6421, 0.6427),
                "shortest": (0.3236, 0.3235),
                "longest": (0.4714, 0.4768),
                "IDF overlap": (0.6239, 0.6304),
                "BM25": (0.6018, 0.6114),
            },
            id="wikiqa_243",
        ),
    ],
)
def test_figures_on_the_benchmarks(
    benchmark_data: Path, file: str, protocol: str, figures: dict[str, tuple[float, float]]
) -> None:
    questions = read_questions(benchmark_data / file)
    found = baseline_scores(questions)
    for name, expected in figures.items():
        measures = evaluate_scores(questions, found[name], protocol=PROTOCOLS[protocol]).measures
        assert (measures["MAP"].value, measures["MRR"].value) == pytest.approx(expected, abs=5e-5), name
