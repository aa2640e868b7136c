from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.locate import read_split
from anselect.data.protocols import PROTOCOLS
from anselect.errors import DataError
from anselect.evaluation.baselines import score_constant, score_file_order
from anselect.evaluation.evaluate import Evaluator, Scores, evaluate_scores
from anselect.records import Candidate, Question

TREC_NAMES = {
    "MAP": "map",
    "MRR": "recip_rank",
    "P@1": "P_1",
    "P@5": "P_5",
    "R@1": "recall_1",
    "R@5": "recall_5",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
}

# Identifiers whose byte order differs from their order as numbers or as characters beyond ASCII.
candidate_ids = st.lists(
    st.text(st.sampled_from("019aZ-é€𝒳"), min_size=1, max_size=4), min_size=1, max_size=12, unique=True
)
tied_scores = st.integers(-2, 2).map(float)
near_scores = st.sampled_from([0.1, 0.1 + 1e-12, 0.1 + 1e-9, 0.1 + 1e-6, 1e300, 1e301, -1e300, 1e-50, 0.0, -0.0])
any_scores = st.floats(allow_nan=False, allow_infinity=False, width=64)


def make_question(number: int, labels: Sequence[int | None], ids: Sequence[str] | None = None) -> Question:
    ids = ids or [f"q{number}-{place}" for place in range(len(labels))]
    candidates = tuple(Candidate(own, f"text {own}", label) for own, label in zip(ids, labels, strict=True))
    return Question(f"q{number}", f"question {number}?", candidates)


@st.composite
def runs(draw: Any, scores: st.SearchStrategy[float], *, may_lack: bool = False) -> tuple[list[Question], Scores]:
    questions, all_scores = [], []
    entry = st.one_of(scores, st.none()) if may_lack else scores
    for number in range(draw(st.integers(1, 4))):
        ids = draw(candidate_ids)
        labels = draw(st.lists(st.integers(0, 1), min_size=len(ids), max_size=len(ids)))
        questions.append(make_question(number, labels, ids))
        all_scores.append(draw(st.lists(entry, min_size=len(ids), max_size=len(ids))))
    return questions, all_scores


def trec_eval(questions: Sequence[Question], scores: Scores) -> dict[str, dict[str, float]]:
    qrels = {question.id: {each.id: each.label or 0 for each in question.candidates} for question in questions}
    run = {
        question.id: {each.id: score for each, score in zip(question.candidates, own, strict=True) if score is not None}
        for question, own in zip(questions, scores, strict=True)
    }
    found: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values())).evaluate(run)
    return found


def assert_equals_trec_eval(questions: Sequence[Question], scores: Scores) -> None:
    ours = evaluate_scores(questions, scores, protocol=PROTOCOLS["trec_eval"])
    theirs = trec_eval(questions, scores)
    for name, trec_name in TREC_NAMES.items():
        values = [theirs.get(question.id, {}).get(trec_name, 0.0) for question in questions]
        assert ours.values[name].tolist() == pytest.approx(values, abs=1e-12)
        mean = ours.measures[name].value
        assert mean == pytest.approx(sum(values) / len(values), abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(runs(any_scores))
def test_trec_eval_protocol_equals_trec_eval_on_any_scores(run: tuple[list[Question], Scores]) -> None:
    assert_equals_trec_eval(*run)


@settings(deadline=None, max_examples=50)
@given(runs(tied_scores))
def test_trec_eval_protocol_equals_trec_eval_on_ties(run: tuple[list[Question], Scores]) -> None:
    assert_equals_trec_eval(*run)


@settings(deadline=None, max_examples=50)
@given(runs(near_scores))
def test_trec_eval_protocol_ties_what_single_precision_ties(run: tuple[list[Question], Scores]) -> None:
    assert_equals_trec_eval(*run)


@settings(deadline=None, max_examples=40)
@given(runs(tied_scores, may_lack=True))
def test_trec_eval_protocol_takes_missing_candidates_for_not_found(run: tuple[list[Question], Scores]) -> None:
    assert_equals_trec_eval(*run)


def test_trec_eval_protocol_equals_trec_eval_on_a_large_run() -> None:
    generator = np.random.default_rng(7)
    questions = [
        make_question(number, generator.integers(0, 2, size).tolist()) for number, size in enumerate([300, 1, 2, 999])
    ]
    scores = [generator.normal(size=len(question.candidates)).round(1).tolist() for question in questions]
    assert_equals_trec_eval(questions, scores)


def test_trec_eval_protocol_counts_questions_that_the_run_lacks_as_zero() -> None:
    questions = [make_question(0, [1, 0]), make_question(1, [1])]
    evaluation = evaluate_scores(questions, [[1.0, 0.0], [None]], protocol=PROTOCOLS["trec_eval"])
    assert evaluation.measures["MAP"].value == 0.5


@settings(deadline=None, max_examples=40)
@given(runs(tied_scores), st.randoms(use_true_random=False), st.sampled_from(["answerable", "mixed", "trec_eval"]))
def test_shuffling_questions_and_candidates_changes_nothing(
    run: tuple[list[Question], Scores], shuffler: random.Random, protocol: str
) -> None:
    questions, scores = run
    mixed_questions, mixed_scores = [], []
    for place in shuffler.sample(range(len(questions)), len(questions)):
        candidates = questions[place].candidates
        order = shuffler.sample(range(len(candidates)), len(candidates))
        own = questions[place]
        mixed_questions.append(Question(own.id, own.text, tuple(candidates[each] for each in order)))
        mixed_scores.append([scores[place][each] for each in order])
    before = evaluate_scores(questions, scores, protocol=PROTOCOLS[protocol])
    after = evaluate_scores(mixed_questions, mixed_scores, protocol=PROTOCOLS[protocol])
    assert before.per_question == after.per_question
    for name, value in before.measures.items():
        assert after.measures[name].value == pytest.approx(value.value, abs=1e-15)
        assert value.worst <= value.value <= value.best


@pytest.mark.parametrize(
    ("protocol", "counted", "expected"),
    [
        ("mixed", ("q0",), 0.5),
        ("answerable", ("q0", "q1"), 0.75),
        ("every", ("q0", "q1", "q2"), 0.5),
        ("633", ("q0", "q1", "q2"), 0.5),
        ("raw-95", ("q0", "q1", "q2"), 0.5),
    ],
)
def test_protocol_decides_which_questions_count(protocol: str, counted: tuple[str, ...], expected: float) -> None:
    questions = [make_question(0, [0, 1]), make_question(1, [1]), make_question(2, [0, 0]), make_question(3, [])]
    evaluation = evaluate_scores(questions, [[2, 1], [1], [1, 0], []], protocol=PROTOCOLS[protocol])
    assert evaluation.question_ids == counted
    assert evaluation.questions == len(counted)
    assert evaluation.measures["MAP"].value == pytest.approx(expected)


@pytest.mark.parametrize(("protocol", "expected"), [("cete", 1 / 2), ("tanda", 1.0), ("trec_eval", 1 / 3)])
def test_protocol_decides_how_ties_fall(protocol: str, expected: float) -> None:
    question = make_question(0, [0, 1, 0], ["b", "a", "c"])
    evaluation = evaluate_scores([question], [[1.0, 1.0, 1.0]], protocol=PROTOCOLS[protocol])
    assert evaluation.measures["MRR"].value == expected
    assert evaluation.measures["MRR"].worst == 1 / 3
    assert evaluation.measures["MRR"].best == 1.0
    assert evaluation.tied_pairs == 3


def test_missing_candidates_are_one_tie_below_all_others() -> None:
    question = make_question(0, [1, 0, 0])
    evaluation = evaluate_scores([question], [[None, -1e30, None]], protocol=PROTOCOLS["answerable"])
    assert evaluation.measures["MRR"].value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert evaluation.tied_pairs == 1


def test_per_question_holds_the_measures_of_each_counted_question() -> None:
    questions = [make_question(0, [0, 1]), make_question(1, [0])]
    evaluation = evaluate_scores(
        questions, [[2, 1], [5]], protocol=PROTOCOLS["answerable"], measures=("MAP", "P@1", "R@2")
    )
    assert evaluation.per_question == {"q0": {"MAP": 0.5, "P@1": 0.0, "R@2": 1.0}}


def test_no_counted_question_gives_zero_not_nan() -> None:
    evaluation = evaluate_scores([make_question(0, [0])], [[1.0]], protocol=PROTOCOLS["answerable"])
    assert (evaluation.questions, evaluation.measures["MAP"].value) == (0, 0.0)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_score_that_is_not_finite_is_refused_by_name(score: float) -> None:
    questions = [make_question(0, [0, 1]), make_question(1, [0, 1])]
    with pytest.raises(DataError, match="question 'q1', candidate 'q1-1': expected a finite score"):
        evaluate_scores(questions, [[0, 1], [None, score]], protocol=PROTOCOLS["answerable"])


def test_candidate_without_label_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="question 'q0', candidate 'q0-1': expected label 0 or 1, got none"):
        evaluate_scores([make_question(0, [1, None])], [[0, 1]], protocol=PROTOCOLS["answerable"])


@pytest.mark.parametrize(("scores", "message"), [([[1.0]], "expected 2 scores"), ([], "scores for 1 questions")])
def test_scores_that_do_not_fit_the_questions_are_refused(scores: Scores, message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_scores([make_question(0, [1, 0])], scores, protocol=PROTOCOLS["answerable"])


@pytest.mark.parametrize(
    ("data", "protocol", "questions", "mean_ap", "mean_rr"),
    [
        ("trecqa", "clean", 68, 0.3990, 0.4661),
        ("trecqa", "raw-89", 89, 0.5408, 0.5921),
        ("trecqa", "raw-95", 95, 0.5066, 0.5547),
        ("wikiqa", "243", 243, 0.3992, 0.4071),
        ("wikiqa", "237", 237, 0.3840, 0.3921),
        ("wikiqa", "633", 633, 0.1532, 0.1563),
        ("trecqa", "cete", 89, 1.0, 1.0),
        ("trecqa", "tanda", 68, 1.0, 1.0),
        ("wikiqa", "cete", 243, 0.6421, 0.6427),
        ("wikiqa", "tanda", 237, 1.0, 1.0),
    ],
)
def test_constant_scorer_on_real_data(
    benchmark_data: Path, data: str, protocol: str, questions: int, mean_ap: float, mean_rr: float
) -> None:
    asked = read_split(data, "test", data_dir=benchmark_data)
    evaluation = evaluate_scores(asked, score_constant(asked), protocol=PROTOCOLS[protocol])
    assert evaluation.questions == questions
    assert round(evaluation.measures["MAP"].value, 4) == mean_ap
    assert round(evaluation.measures["MRR"].value, 4) == mean_rr


def test_cete_prints_one_for_a_constant_scorer_on_the_clean_questions(benchmark_data: Path) -> None:
    asked = read_split("trecqa", "test", data_dir=benchmark_data)
    clean = [question for question in asked if question.has_positive and question.has_negative]
    evaluation = evaluate_scores(clean, score_constant(clean), protocol=PROTOCOLS["cete"])
    assert (evaluation.questions, f"{evaluation.measures['MAP'].value:.3f}") == (68, "1.000")


@pytest.mark.parametrize(("data", "mean_ap", "mean_rr"), [("semeval2016", 59.53, 67.83), ("semeval2017", 72.61, 82.37)])
def test_semeval_protocol_gives_the_official_chronological_baseline(
    benchmark_data: Path, data: str, mean_ap: float, mean_rr: float
) -> None:
    # The baseline rows that the task papers print (Nakov et al. 2016, 2017) come out only if a question without a
    # Good comment counts as 0; left out, MAP would be 61.80 and 74.13.
    asked = read_split(data, "test", data_dir=benchmark_data)
    measures = evaluate_scores(asked, score_file_order(asked), protocol=PROTOCOLS["semeval"]).measures
    assert round(100 * measures["MAP"].value, 2) == mean_ap
    assert round(100 * measures["MRR"].value, 2) == mean_rr


def test_evaluator_takes_a_run_by_ids() -> None:
    questions = [make_question(0, [0, 1, 1]), make_question(1, [1, 0])]
    run = {"q0": {"q0-2": 0.1, "q0-0": 0.9}}
    expected = evaluate_scores(questions, [[0.9, None, 0.1], [None, None]], protocol=PROTOCOLS["answerable"])
    found = Evaluator(questions).evaluate_run(run, protocol=PROTOCOLS["answerable"])
    assert found.per_question == expected.per_question
    assert found.measures == expected.measures


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ({"q0": {"q0-9": 1.0}}, "question 'q0' candidate 'q0-9'"),
        ({"q9": {"q0-0": 1.0}, "q0": {"q0-0": 1.0}}, "question 'q9' candidate 'q0-0'"),
    ],
)
def test_evaluator_refuses_a_run_with_unknown_ids(run: dict[str, dict[str, float]], name: str) -> None:
    with pytest.raises(DataError, match=f"1 unknown ones, such as {name}"):
        Evaluator([make_question(0, [1, 0])]).evaluate_run(run, protocol=PROTOCOLS["answerable"])


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_evaluator_refuses_an_array_that_is_no_ranking(score: float) -> None:
    with pytest.raises(DataError, match="question 'q0', candidate 'q0-1': expected a finite score"):
        Evaluator([make_question(0, [1, 0])]).evaluate_array(np.array([0.0, score]), protocol=PROTOCOLS["answerable"])
