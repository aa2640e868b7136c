from __future__ import annotations

from pathlib import Path

import pytest

from anselect.errors import DataError
from anselect.evaluation.run_scores import read_run_scores
from anselect.records import Candidate, Question

QUESTIONS = [
    Question("q1", "one?", (Candidate("a", "A", 1), Candidate("b", "B", 0))),
    Question("q2", "two?", (Candidate("a", "A", 0),)),
    Question("q3", "three?"),
]


def read(tmp_path: Path, *lines: str) -> tuple[list[list[float | None]], tuple[tuple[str, str], ...], str]:
    path = tmp_path / "run.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = read_run_scores(path, QUESTIONS)
    return found.scores, found.missing, found.missing_note


def test_scores_are_aligned_with_questions_and_candidates(tmp_path: Path) -> None:
    # The candidate id `a` occurs under two questions, as sentence ids do in WikiQA.
    assert read(tmp_path, "q2\ta\t3", "q1\tb\t2", "q1\ta\t1") == ([[1.0, 2.0], [3.0], []], (), "")


def test_missing_candidates_are_named_and_counted(tmp_path: Path) -> None:
    scores, missing, note = read(tmp_path, "q1\tb\t2")
    assert scores == [[None, 2.0], [None], []]
    assert missing == (("q1", "a"), ("q2", "a"))
    assert note.startswith("the run lacks 2 of 3 candidates")
    assert "question 'q1' candidate 'a', question 'q2' candidate 'a'" in note


def test_unknown_ids_are_counted_and_the_first_named_with_their_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, "q1\ta\t1", "q1\tz\t1", "q9\ta\t1", "q9\tb\t1", "q9\tc\t1")
    message = str(caught.value)
    assert "run.tsv:2: " in message
    assert "got 4 unknown ones (3 by their question)" in message
    assert "question 'q1' candidate 'z' (line 2), question 'q9' candidate 'a' (line 3)" in message
    assert "'c'" not in message
    assert caught.value.exit_code == 5


def test_second_score_of_a_candidate_is_refused_even_if_equal(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"run.tsv:2: .*'q1', candidate 'a'.*second"):
        read(tmp_path, "q1\ta\t0", "q1\ta\t0")
