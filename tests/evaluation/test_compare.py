from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.protocols import PROTOCOLS
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.evaluation.compare import (
    Comparison,
    ComparisonSettings,
    TopCandidate,
    compare_scores,
    find_top,
    read_compared_runs,
)
from anselect.evaluation.evaluate import Scores
from anselect.records import Candidate, Question


def make_question(name: str, *labels: int) -> Question:
    candidates = (Candidate(f"c{place}", f"{name} text {place}", label) for place, label in enumerate(labels))
    return Question(name, f"{name}?", tuple(candidates))


# AP by hand; q3 has no correct candidate and does not count under `answerable`.
QUESTIONS = [
    make_question("q1", 1, 0),
    make_question("q2", 0, 1, 0),
    make_question("q3", 0, 0),
    make_question("q4", 1, 0),
]
GOOD = [[0.9, 0.1], [0.5, 0.8, 0.1], [0.2, 0.1], [0.4, 0.6]]  # 1, 1, -, 1/2
POOR = [[0.1, 0.9], [0.5, 0.2, 0.1], [0.1, 0.2], [0.9, 0.1]]  # 1/2, 1/2, -, 1
TIED = [[0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]  # 3/4, 11/18, -, 3/4
RUNS = {"poor": POOR, "good": GOOD, "tied": TIED}


def compare_all(settings: ComparisonSettings | None = None, protocol: str = "answerable") -> Comparison:
    return compare_scores(QUESTIONS, RUNS, protocol=PROTOCOLS[protocol], settings=settings)


def test_only_questions_that_count_are_compared() -> None:
    found = compare_all()
    assert found.question_ids == ("q1", "q2", "q4")
    assert found.resolution == pytest.approx(1 / 3)
    assert found.values["good"] == (1.0, 1.0, 0.5)
    assert found.values["poor"] == (0.5, 0.5, 1.0)
    assert found.values["tied"] == pytest.approx((0.75, 11 / 18, 0.75))
    assert compare_all(protocol="every").values["good"] == (1.0, 1.0, 0.0, 0.5)


def test_runs_stand_with_their_means_and_bounds() -> None:
    good, tied = compare_all().runs[1:]
    assert (good.name, good.tied_pairs) == ("good", 0)
    assert good.measure.value == pytest.approx(2.5 / 3)
    assert (tied.name, tied.tied_pairs) == ("tied", 5)
    assert tied.measure.worst == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert tied.measure.best == 1.0


def test_without_a_baseline_each_run_is_compared_with_those_before_it() -> None:
    assert [(pair.run, pair.baseline) for pair in compare_all().pairs] == [
        ("good", "poor"),
        ("tied", "poor"),
        ("tied", "good"),
    ]


def test_with_a_baseline_only_it_is_compared_with() -> None:
    pairs = compare_all(ComparisonSettings(baseline="good")).pairs
    assert [(pair.run, pair.baseline) for pair in pairs] == [("poor", "good"), ("tied", "good")]


def test_difference_is_run_minus_baseline() -> None:
    difference = compare_all().pairs[0].difference
    assert difference.mean == pytest.approx(0.5 / 3)
    assert (difference.wins, difference.losses, difference.ties) == (2, 1, 0)
    assert difference.randomisation == (1.0, True)


def test_holm_adjusts_over_all_pairs() -> None:
    questions = [make_question(f"q{place}", 1, 0) for place in range(8)]
    right, wrong = [[1.0, 0.0]] * 8, [[0.0, 1.0]] * 8
    runs = {"wrong": wrong, "right": right, "half": right[:4] + wrong[4:]}
    pairs = compare_scores(questions, runs, protocol=PROTOCOLS["answerable"]).pairs
    assert [pair.difference.randomisation.p for pair in pairs] == pytest.approx([2 / 2**8, 2 / 2**4, 2 / 2**4])
    assert [pair.randomisation_holm for pair in pairs] == pytest.approx([3 * 2 / 2**8, 2 * 2 / 2**4, 2 * 2 / 2**4])
    # The same difference everywhere has no t-test: two are left to adjust over.
    assert pairs[0].t_test_holm is None
    assert pairs[1].difference.t_test is not None
    assert pairs[1].t_test_holm == pytest.approx(2 * pairs[1].difference.t_test)


def test_contrasts_come_with_texts_the_largest_spread_first() -> None:
    found = compare_scores(
        QUESTIONS, {"poor": POOR, "good": GOOD}, protocol=PROTOCOLS["answerable"], settings=ComparisonSettings()
    )
    assert [contrast.question_id for contrast in found.contrasts] == ["q1", "q2", "q4"]
    first = found.contrasts[0]
    assert (first.question, first.spread) == ("q1?", 0.5)
    poor, good = first.runs
    assert (poor.run, poor.value, poor.answer_rank) == ("poor", 0.5, 2.0)
    assert (poor.top.text, poor.top.is_correct) == ("q1 text 1", False)
    assert (good.run, good.value, good.answer_rank) == ("good", 1.0, 1.0)
    assert (good.top.text, good.top.is_correct) == ("q1 text 0", True)


@pytest.mark.parametrize(("wanted", "shown"), [(0, 0), (2, 2), (9, 3)])
def test_contrasts_are_as_many_as_wanted(wanted: int, shown: int) -> None:
    assert len(compare_all(ComparisonSettings(most_different=wanted)).contrasts) == shown


def test_identical_runs_have_no_contrasts() -> None:
    found = compare_scores(QUESTIONS, {"a": GOOD, "b": GOOD}, protocol=PROTOCOLS["answerable"])
    assert found.contrasts == ()
    assert found.pairs[0].difference.randomisation.p == 1.0
    assert found.pairs[0].t_test_holm == 1.0


def test_measure_can_be_chosen() -> None:
    found = compare_scores(
        QUESTIONS, RUNS, protocol=PROTOCOLS["answerable"], settings=ComparisonSettings(measure="P@1")
    )
    assert found.values["good"] == (1.0, 1.0, 0.0)
    assert found.values["tied"] == pytest.approx((1 / 2, 1 / 3, 1 / 2))


@pytest.mark.parametrize(
    ("scores", "top", "is_correct"),
    [
        pytest.param([0.1, 0.9, 0.2], TopCandidate("c1", "q text 1", tied=1, correct=1), True, id="correct"),
        pytest.param([0.1, 0.2, 0.9], TopCandidate("c2", "q text 2", tied=1, correct=0), False, id="wrong"),
        pytest.param([0.9, 0.9, 0.2], TopCandidate("c0", "q text 0", tied=2, correct=1), None, id="tie_leaves_it_open"),
        pytest.param([0.9, 0.1, 0.9], TopCandidate("c0", "q text 0", tied=2, correct=0), False, id="tie_of_wrong_ones"),
        pytest.param([None, -5.0, None], TopCandidate("c1", "q text 1", tied=1, correct=1), True, id="missing_is_last"),
        pytest.param([None, None, None], TopCandidate("c0", "q text 0", tied=3, correct=1), None, id="all_missing"),
    ],
)
def test_find_top(scores: list[float | None], top: TopCandidate, is_correct: bool | None) -> None:
    found = find_top(make_question("q", 0, 1, 0), scores)
    assert found == top
    assert found.is_correct is is_correct


def test_candidates_that_a_run_lacks_have_no_answer_rank_under_trec_eval() -> None:
    runs: dict[str, Scores] = {"whole": [[0.9, 0.1]], "part": [[None, 0.1]]}
    (contrast,) = compare_scores([make_question("q", 1, 0)], runs, protocol=PROTOCOLS["trec_eval"]).contrasts
    assert [(each.value, each.answer_rank) for each in contrast.runs] == [(1.0, 1.0), (0.0, None)]


def test_single_run_is_refused() -> None:
    with pytest.raises(UsageError, match="expected two or more runs to compare, got 1"):
        compare_scores(QUESTIONS, {"good": GOOD}, protocol=PROTOCOLS["answerable"])


def test_baseline_that_is_not_among_the_runs_is_refused() -> None:
    with pytest.raises(UsageError, match="got 'other': the runs are poor, good, tied"):
        compare_all(ComparisonSettings(baseline="other"))


def test_protocol_that_counts_no_question_is_refused() -> None:
    runs = {"a": [[0.9, 0.1]], "b": [[0.1, 0.9]]}
    with pytest.raises(DataError, match="protocol 'mixed' counts none of the 1 questions"):
        compare_scores([make_question("q", 0, 0)], runs, protocol=PROTOCOLS["mixed"])


def test_scores_for_other_questions_are_refused() -> None:
    with pytest.raises(DataError, match="expected scores for 4 questions, got 3"):
        compare_scores(QUESTIONS, {"a": GOOD, "b": POOR[:3]}, protocol=PROTOCOLS["answerable"])


def test_runs_are_read_from_files_and_from_baselines(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    rows = [f"{q.id}\t{c.id}\t{-place}" for q in QUESTIONS for place, c in enumerate(q.candidates)][:-1]
    path.write_text("question_id\tcandidate_id\tscore\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = read_compared_runs([str(path), "file order"], QUESTIONS)
    assert found["file order"].scores == [[0.0, -1.0], [0.0, -1.0, -2.0], [0.0, -1.0], [0.0, -1.0]]
    assert found[str(path)].scores == [[0.0, -1.0], [0.0, -1.0, -2.0], [0.0, -1.0], [0.0, None]]
    assert found[str(path)].missing == (("q4", "c1"),)


def test_file_named_like_a_baseline_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("constant").write_text("q1\tc0\t7.5\n", encoding="utf-8")
    assert read_compared_runs(["constant"], QUESTIONS[:1])["constant"].scores == [[7.5, None]]


def test_run_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="expected different runs, got BM25 more than once"):
        read_compared_runs(["BM25", "constant", "BM25"], QUESTIONS)


def test_unknown_run_lists_the_baselines() -> None:
    with pytest.raises(MissingFileError, match="bm25: no such file, and no baseline of that name; these are constant"):
        read_compared_runs(["bm25", "constant"], QUESTIONS)
