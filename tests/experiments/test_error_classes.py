from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.locate import read_split
from anselect.errors import DataError
from anselect.experiments.error_classes import DATA, ErrorClass, is_missed, read_classes, render_classes
from anselect.records import Candidate, Question

ASKED = Question("1", "who", (Candidate("a", "Bell", 1), Candidate("b", "Rome", 0)))


def test_every_read_question_has_one_class_and_classes_say_what_they_mean() -> None:
    classes = read_classes()
    assert {data: sum(len(each.questions[data]) for each in classes) for data in DATA} == {"wikiqa": 72, "trecqa": 13}
    assert all(each.meaning for each in classes)


def test_a_question_in_two_classes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "classes.toml"
    path.write_text(
        '[a]\nmeaning = "x"\nwikiqa = ["Q1"]\ntrecqa = []\n[b]\nmeaning = "y"\nwikiqa = ["Q1"]\ntrecqa = []\n'
    )
    with pytest.raises(DataError, match="wikiqa Q1 has several"):
        read_classes(path)


@pytest.mark.parametrize(("scores", "missed"), [([0.9, 0.1], False), ([0.1, 0.9], True), ([0.5, 0.5], True)])
def test_first_places_and_ties(scores: list[float], missed: bool) -> None:
    assert is_missed(ASKED, scores) is missed


def test_the_table_counts_what_is_still_missed_and_what_is_new() -> None:
    classes = [ErrorClass("label", "noise", {"wikiqa": ["Q1", "Q2"], "trecqa": ["1.1"]})]
    lines = render_classes(classes, {"wikiqa": {"Q2", "Q7"}, "trecqa": set()}).splitlines()
    assert lines[2:] == [
        "| label | noise | 2 | 1 | 1 | 0 |",
        "| all that were read | | 2 | 1 | 1 | 0 |",
        "| not read: missed now, not then | | | 1 | | 0 |",
    ]


@pytest.mark.parametrize("data", DATA)
def test_the_questions_stand_in_the_test_splits(data: str, benchmark_data: Path) -> None:
    known = {question.id for question in read_split(data, "test", data_dir=benchmark_data) if question.has_positive}
    assert {id_ for each in read_classes() for id_ in each.questions[data]} <= known
