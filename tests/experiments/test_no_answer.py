from __future__ import annotations

from anselect.evaluation.calibration import Abstention
from anselect.experiments.figures.run_data import ScoredSplit
from anselect.experiments.no_answer import Decisions, choose_least, decide, render
from anselect.records import Candidate, Question


def question(*labels: int) -> Question:
    return Question("q", "who", tuple(Candidate(str(place), "x", label) for place, label in enumerate(labels)))


SCORED = ScoredSplit(
    [question(1, 0), question(0, 1), question(0, 0), question(0, 0)],
    [[0.9, 0.1], [0.6, 0.2], [0.7, 0.1], [0.3, 0.2]],
)
"""Right at 0.9, wrong at 0.6, and no answer at 0.7 and 0.3."""


def test_decisions_by_hand() -> None:
    assert decide(SCORED, 0.65) == Decisions(0.65, answered=0.5, right=0.5, recognised=0.5, good=0.5)


def test_answering_nothing_and_answering_all() -> None:
    assert decide(SCORED, 1.0) == Decisions(1.0, answered=0.0, right=0.0, recognised=1.0, good=0.5)
    assert decide(SCORED, 0.0) == Decisions(0.0, answered=1.0, right=0.25, recognised=0.0, good=0.25)


def test_the_least_score_is_the_one_with_the_most_good_decisions() -> None:
    assert choose_least(SCORED) == 0.9


def test_of_equally_good_least_scores_the_lowest_is_chosen() -> None:
    assert choose_least(ScoredSplit([question(1), question(1)], [[0.4], [0.8]])) == 0.4
    split = ScoredSplit([question(0, 1), question(0, 1)], [[0.4, 0.1], [0.8, 0.1]])
    assert choose_least(split) == 0.4


def test_a_row_for_each_model() -> None:
    found = Abstention(auroc=0.8, risk_area=0.4, coverage=(), risk=())
    rows = render({"bundled": (found, decide(SCORED, 0.65))}).splitlines()
    assert rows[2] == "| bundled | 0.800 | 0.400 | 0.650 | 0.500 | 0.500 | 0.500 | 0.500 |"
    assert len({row.count("|") for row in rows}) == 1
