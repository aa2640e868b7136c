"""Figures: the same bytes every time, text as text, nothing cut, and one note for what a run lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anselect.config import check_recipe, recipe_to_toml
from anselect.data.reading import read_questions, write_questions
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.evaluation.calibration import Abstention, Bin
from anselect.evaluation.trec_files import write_run
from anselect.experiments.figures.__main__ import main
from anselect.experiments.figures.bars import SystemResult, draw_map_by_answer_type, draw_systems
from anselect.experiments.figures.curves import TrainingCurve, draw_risk_coverage, draw_training_curves
from anselect.experiments.figures.heatmaps import WORDS_PER_LINE, Heatmap, draw_heatmaps
from anselect.experiments.figures.run_data import open_runs, read_curve, read_results
from anselect.experiments.figures.scores import draw_calibration, draw_score_distributions
from anselect.experiments.figures.style import bar_style, line_style, save_figure
from anselect.training.run_folder import RunFolder
from tests.training.tiny import learnable_questions

CURVE = TrainingCurve("run-a", ((10, 0.7), (20, 0.5)), ((20, 0.61), (40, 0.6)))
HEATMAP = Heatmap("right $5$", ("who", "did"), ("Bell", "<did>", "it"), np.eye(2, 3), (1.0, -0.5, 0.0))
FIGURES: dict[str, Callable[[], Any]] = {
    "run-a (best dev MAP 0.6100)": lambda: draw_training_curves([CURVE, TrainingCurve("empty", (), ())]),
    "0.600 ± 0.141": lambda: draw_systems([SystemResult("a", {"MAP": [0.5, 0.7], "MRR": [0.5, 0.7]})], title="t"),
    "2 questions": lambda: draw_map_by_answer_type({"a": {"HUM": [1.0, 0.5], "LOC": [1.0]}, "b": {"HUM": [0.5, 0.5]}}),
    "right (2 candidates)": lambda: draw_score_distributions([0.9, 0.8], [0.1], title="t"),
    "1,781": lambda: draw_calibration([Bin(0.05, 0.0, 1781), Bin(0.9, 1.0, 3)], title="t"),
    "a: area 0.300, AUROC 0.700": lambda: draw_risk_coverage({"a": Abstention(0.7, 0.3, (0.5, 1.0), (0.0, 0.5))}),
    "right $5$": lambda: draw_heatmaps([HEATMAP], title="Who?"),
    "no words": lambda: draw_heatmaps([Heatmap("no words", ("who",), (), np.zeros((1, 0)))]),
}


@pytest.mark.parametrize("text", FIGURES)
def test_figure_has_the_same_bytes_twice_and_its_text_as_text(tmp_path: Path, text: str) -> None:
    for name in ("one.svg", "two.svg"):
        save_figure(FIGURES[text](), tmp_path / name)
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    assert f">{text}</text>" in drawn.decode()
    assert b"<dc:date>" not in drawn


def test_picture_has_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("one.png", "two.PNG"):
        save_figure(draw_score_distributions([0.9], [0.1], title="t"), tmp_path / name)
    drawn = (tmp_path / "one.png").read_bytes()
    assert drawn == (tmp_path / "two.PNG").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "two.PNG"]  # no half-written file beside


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a figure's name to end in .png or .svg, got '.pdf'"):
        save_figure(draw_training_curves([CURVE]), tmp_path / "a.pdf")


def test_without_matplotlib_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from anselect.errors import MissingExtraError\n"
        "from anselect.experiments.figures.curves import draw_training_curves\n"
        "try:\n    draw_training_curves([])\nexcept MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "matplotlib is not installed: pip install 'anselect[train]'\n"


def test_styles_differ_without_colour_too() -> None:
    lines = [line_style(place) for place in range(49)]
    assert len({(str(style["color"]), str(style["linestyle"])) for style in lines}) == 49
    assert len({str(style["linestyle"]) for style in lines[:7]}) == len({style["marker"] for style in lines[:7]}) == 7
    assert len({bar_style(place)["hatch"] for place in range(7)}) == 7


def test_long_candidate_is_drawn_in_even_lines() -> None:
    words = tuple(f"w{place}" for place in range(2 * WORDS_PER_LINE + 1))
    whole = Heatmap("t", ("who",), words, np.arange(len(words), dtype=float).reshape(1, -1))
    parts = whole.parts()
    assert [len(part.candidate) for part in parts] == [14, 13, 14]
    assert sum((part.candidate for part in parts), ()) == words
    assert np.concatenate([part.cosines for part in parts], axis=1).tolist() == whole.cosines.tolist()
    assert parts[1].title == "t (words 15 to 27)"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run on the user's own files, without a model."""
    write_questions(learnable_questions(12), tmp_path / "dev.jsonl")
    files = {"train": str(tmp_path / "dev.jsonl"), "dev": str(tmp_path / "dev.jsonl")}
    recipe = check_recipe({"name": "tiny", "data": files, "model": {"encoder": "none/bert"}}, source="test")
    folder = tmp_path / "runs" / "seed0"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(recipe_to_toml(recipe))
    entries = [{"step": 10, "loss": 0.7}, {"step": 20, "eval_map": 0.5}, {"step": 20, "eval_map": 0.6}]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    metrics = {"protocol": "answerable", "dev": {"answerable": {"MAP": 0.6, "MRR": 0.7}}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    questions = list(read_questions(tmp_path / "dev.jsonl"))
    scores = [[0.9 if each.is_correct else 0.2 for each in question.candidates] for question in questions]
    write_run(folder / "dev.trec", questions, scores, tag="tiny", provenance={})
    return folder


def test_run_s_numbers_are_read(run: Path) -> None:
    runs = open_runs([run, run])
    assert list(runs) == ["seed0"]
    assert read_curve("a", runs["seed0"]) == TrainingCurve("a", ((10, 0.7),), ((20, 0.6),))
    assert read_results(runs, "dev") == [SystemResult("tiny, bert, own files", {"MAP": [0.6], "MRR": [0.7]})]
    assert read_results(runs, "test") == []


def test_runs_of_the_same_name_are_told_apart(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "more" / "seed0"
    other.mkdir(parents=True)
    (other / "recipe.toml").write_bytes((run / "recipe.toml").read_bytes())
    assert list(open_runs([run, other])) == ["runs-seed0", "more-seed0"]


def test_damaged_log_is_named_with_its_line(run: Path) -> None:
    (run / "metrics.jsonl").write_text('{"step": 1}\n{"step"\n')
    with pytest.raises(DataError, match=r"metrics.jsonl:2: expected a JSON object with a step"):
        read_curve("a", RunFolder(run))


def test_command_draws_what_the_folder_allows_and_notes_the_rest(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0
    names = ["map-by-answer-type", "seed0-calibration", "seed0-scores", "systems", "training-curves"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"{name}.{suffix}" for name in names for suffix in ("png", "svg")
    ]
    notes = caplog.messages
    assert notes[0].startswith("seed0: no curve of risk and coverage: expected questions with and without an answer")
    assert notes[1].startswith("seed0: no heat map of words: encoder none/bert")


def test_command_ends_in_one_line_for_a_folder_that_is_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "--output", str(tmp_path / "out")]) == MissingFileError.exit_code
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: expected a run's folder with recipe.toml")
