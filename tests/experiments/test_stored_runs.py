"""Rankings read back from a TREC file give the figures that they had, ties included."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.protocols import PROTOCOLS
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.trec_files import write_run
from anselect.experiments.stored_runs import join_ties, read_stored_scores
from anselect.records import Candidate, Question

LABELS = (1, 0, 0, 1)


def question(number: int) -> Question:
    return Question(f"q{number}", "?", tuple(Candidate(f"c{at}", "!", label) for at, label in enumerate(LABELS)))


# Eighths are far apart in single precision, so that only true ties are set apart by one step.
GRID = st.integers(-16, 16).map(lambda eighths: eighths / 8)


@settings(max_examples=25, deadline=None)  # each writes a file and waits for the disk
@given(st.lists(st.lists(GRID, min_size=4, max_size=4), min_size=1, max_size=5))
def test_figures_come_back_exactly(scores: list[list[float]]) -> None:
    questions = [question(number) for number in range(len(scores))]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        write_run(path, questions, scores, tag="t", provenance={})
        stored = read_stored_scores(path, questions)
    for name in ("answerable", "trec_eval"):
        before, after = (evaluate_scores(questions, each, protocol=PROTOCOLS[name]) for each in (scores, stored))
        assert after.measures == before.measures


def test_neighbouring_scores_that_were_no_tie_are_left_apart(tmp_path: Path) -> None:
    below = float(np.nextafter(np.float32(0.5), np.float32(0)))
    path = tmp_path / "run.trec"
    write_run(path, [question(0)], [[below, 0.5, 0.25, 0.125]], tag="t", provenance={})
    assert read_stored_scores(path, [question(0)]) == [[pytest.approx(below), 0.5, 0.25, 0.125]]
    assert read_stored_scores(path, [question(0)])[0][0] != 0.5


def test_file_that_tells_nothing_of_ties_is_taken_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q0 Q0 c0 1 0.5 t\nq0 Q0 c1 2 0.49999997 t\nq0 Q0 c2 3 0.2 t\nq0 Q0 c3 4 0.1 t\n")
    assert read_stored_scores(path, [question(0)]) == [[0.5, 0.49999997, 0.2, 0.1]]


def test_three_equal_scores_are_joined_and_missing_ones_stay_missing() -> None:
    steps = [float(value) for value in np.array([0x3F000000, 0x3EFFFFFF, 0x3EFFFFFE], np.int32).view(np.float32)]
    assert join_ties([steps[2], None, steps[0], steps[1]]) == [0.5, None, 0.5, 0.5]
