"""Running cells: finished ones are left alone, failures do not spread, a budget is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.config import Recipe
from anselect.errors import MissingFileError
from anselect.experiments.budget import TIMES, TimeBook, fitting
from anselect.experiments.cells import Cell, Request, plan_table
from anselect.experiments.run import Status, find_outcome, run_cells
from anselect.experiments.tables import find_table
from tests.experiments.hand_made import write_finished_run, write_wikiqa

TEST_QUESTIONS = 4


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return write_wikiqa(tmp_path / "data", {"train": 6, "dev": 3, "test": TEST_QUESTIONS})


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    return plan_table(find_table("bas-table6"), Request(data=("wikiqa",), output=tmp_path / "out")).cells


class Trainer:
    """Stands in for a training: writes a finished run, or fails for the heads it is told to fail for."""

    def __init__(self, data_dir: Path, failing: dict[str, BaseException] | None = None) -> None:
        self.data_dir, self.failing, self.trained = data_dir, failing or {}, list[str]()

    def __call__(self, recipe: Recipe, folder: Path) -> None:
        self.trained.append(recipe.model.head)
        if recipe.model.head in self.failing:
            raise self.failing[recipe.model.head]
        write_finished_run(folder, recipe, self.data_dir, [1] * TEST_QUESTIONS)


def time_book(tmp_path: Path, seconds: float | None = None) -> TimeBook:
    return TimeBook(tmp_path / "out" / TIMES, lambda cell: seconds)


def test_finished_cells_are_never_run_again(tmp_path: Path, data_dir: Path, cells: list[Cell]) -> None:
    write_finished_run(cells[1].folder, cells[1].recipe, data_dir, [1] * TEST_QUESTIONS)
    trainer = Trainer(data_dir)
    outcomes = run_cells(cells, trainer, time_book(tmp_path), say=lambda text: None)
    assert trainer.trained == ["fc", "cnn", "rnn"]
    assert {outcome.status for outcome in outcomes.values()} == {Status.finished}
    run_cells(cells, trainer, time_book(tmp_path), say=lambda text: None)
    assert trainer.trained == ["fc", "cnn", "rnn"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MissingFileError("bert is not here:\n fetch it"), "bert is not here: fetch it"),
        (RuntimeError("out of memory"), "RuntimeError: out of memory"),
        (OSError(28, "No space left"), "OSError: [Errno 28] No space left"),
    ],
)
def test_failing_cell_says_why_and_the_rest_goes_on(
    error: Exception, reason: str, tmp_path: Path, data_dir: Path, cells: list[Cell]
) -> None:
    said: list[str] = []
    trainer = Trainer(data_dir, {"bow": error})
    outcomes = run_cells(cells, trainer, time_book(tmp_path), say=said.append)
    assert trainer.trained == ["fc", "bow", "cnn", "rnn"]
    assert (outcomes[cells[1].folder].status, outcomes[cells[1].folder].reason) == (Status.failed, reason)
    assert f"{cells[1].folder}: {reason}" in said


def test_interrupt_is_passed_on(tmp_path: Path, data_dir: Path, cells: list[Cell]) -> None:
    trainer = Trainer(data_dir, {"bow": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, trainer, time_book(tmp_path), say=lambda text: None)
    assert trainer.trained == ["fc", "bow"]


def test_run_of_other_settings_is_not_taken_for_the_cells(data_dir: Path, cells: list[Cell]) -> None:
    write_finished_run(cells[0].folder, cells[1].recipe, data_dir, [1] * TEST_QUESTIONS)
    outcome = find_outcome(cells[0])
    assert outcome.status is Status.failed
    assert "holds a run of other settings" in outcome.reason


def test_budget_runs_what_fits_and_says_what_does_not(tmp_path: Path, data_dir: Path, cells: list[Cell]) -> None:
    said: list[str] = []
    book = TimeBook(tmp_path / TIMES, lambda cell: 7200.0 if cell.recipe.model.head == "bow" else 1e-6)
    trainer = Trainer(data_dir)
    outcomes = run_cells(cells, trainer, book, hours=1.0, say=said.append)
    assert trainer.trained == ["fc", "cnn", "rnn"]
    assert outcomes[cells[1].folder].status is Status.left_out
    assert said[0].startswith("3 of 4 trainings to do fit into 1 h")
    assert said[1] == f"left out for want of time: {cells[1].folder}"


def test_training_that_did_not_fit_is_run_when_others_were_faster_than_thought(
    tmp_path: Path, data_dir: Path, cells: list[Cell]
) -> None:
    book = TimeBook(tmp_path / TIMES, lambda cell: 7200.0 if cell.recipe.model.head == "fc" else 3000.0)
    trainer = Trainer(data_dir)
    outcomes = run_cells(cells, trainer, book, hours=1.0, say=lambda text: None)
    assert trainer.trained == ["bow", "fc", "cnn", "rnn"]
    assert {outcome.status for outcome in outcomes.values()} == {Status.finished}


def test_budget_of_nothing_runs_nothing(tmp_path: Path, data_dir: Path, cells: list[Cell]) -> None:
    trainer = Trainer(data_dir)
    outcomes = run_cells(cells, trainer, time_book(tmp_path), hours=0.0, say=lambda text: None)
    assert trainer.trained == []
    assert {outcome.status for outcome in outcomes.values()} == {Status.left_out}


def test_real_speed_corrects_the_estimate(tmp_path: Path, cells: list[Cell]) -> None:
    book = time_book(tmp_path, 100.0)
    assert book.expected_seconds(cells[0]) == 100.0
    book.enter(cells[0], 250.0)
    assert book.expected_seconds(cells[1]) == 250.0  # every estimate was 2.5 times too short
    again = time_book(tmp_path, 40.0)
    assert again.expected_seconds(cells[0]) == 250.0  # the same training, known from its file
    assert again.expected_seconds(cells[1]) == 100.0


def test_torn_last_line_of_the_times_is_passed_over(tmp_path: Path, cells: list[Cell]) -> None:
    book = time_book(tmp_path, 100.0)
    book.enter(cells[0], 50.0)
    with book.path.open("a") as file:
        file.write('{"cell": "bas-')
    assert book.expected_seconds(cells[0]) == 50.0


def test_later_smaller_training_may_fit_where_an_earlier_does_not(tmp_path: Path, cells: list[Cell]) -> None:
    seconds = {"fc": 50.0, "bow": 500.0, "cnn": 40.0, "rnn": 20.0}
    book = TimeBook(tmp_path / TIMES, lambda cell: seconds[cell.recipe.model.head])
    assert [cell.recipe.model.head for cell in fitting(cells, book, 100.0)] == ["fc", "cnn"]
