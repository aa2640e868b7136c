"""Runs in, a folder of figures out: everything that the runs' folders allow, as PNG and SVG."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anselect.config import Recipe
from anselect.errors import AnselectError, MissingExtraError
from anselect.evaluation.calibration import Abstention, reliability
from anselect.experiments.figures.bars import draw_map_by_answer_type, draw_systems
from anselect.experiments.figures.curves import draw_risk_coverage, draw_training_curves
from anselect.experiments.figures.heatmaps import Heatmap, draw_heatmaps
from anselect.experiments.figures.run_data import (
    ScoredSplit,
    abstention_of,
    average_precisions_by_type,
    open_runs,
    read_curve,
    read_results,
    read_scored_split,
)
from anselect.experiments.figures.scores import draw_calibration, draw_score_distributions
from anselect.experiments.figures.style import FORMATS, save_figure
from anselect.training.run_folder import RunFolder, read_recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Output:
    """Where figures go."""

    folder: Path

    def save(self, name: str, figure: Figure) -> None:
        """Write one figure in every format."""
        for suffix in FORMATS:
            save_figure(figure, self.folder / f"{name}.{suffix}")


def draw_runs(
    paths: Sequence[Path], folder: Path, *, split: str = "dev", data_dir: Path | None = None, with_words: bool = True
) -> None:
    """Draw the figures of these runs; what a run lacks is left out with a note in the log.

    Figures of all runs together: training-curves, systems, map-by-answer-type, risk-coverage. Of each run by itself:
    NAME-scores, NAME-calibration, NAME-words. `with_words` loads each run's model for the last.
    """
    runs, output = open_runs(paths), Output(folder)
    curves = [curve for curve in (read_curve(*item) for item in runs.items()) if curve.loss or curve.dev_map]
    if curves:
        output.save("training-curves", draw_training_curves(curves))
    results = read_results(runs, split)
    if results:
        output.save("systems", draw_systems(results, title=f"MAP and MRR on {split} (whiskers: deviation over seeds)"))
    scored = dict(_scored_runs(runs, split, data_dir))
    _draw_together(scored, output)
    for name, run in runs.items():
        if name in scored:
            _draw_one(name, scored[name], split, output)
            if with_words:
                with _optional(f"{name}: no heat map of words"):
                    _draw_words(name, run, scored[name], output)


def _scored_runs(runs: Mapping[str, RunFolder], split: str, data_dir: Path | None) -> Iterator[tuple[str, ScoredSplit]]:
    for name, run in runs.items():
        recipe: Recipe = read_recipe(run)
        with _optional(f"{name}: no figures of its scores on {split}"):
            yield name, read_scored_split(run, recipe, split, data_dir)


def _draw_together(scored: Mapping[str, ScoredSplit], output: Output) -> None:
    if scored:
        by_type = {name: average_precisions_by_type(each) for name, each in scored.items()}
        output.save("map-by-answer-type", draw_map_by_answer_type(by_type))
    curves: dict[str, Abstention] = {}
    for name, each in scored.items():
        with _optional(f"{name}: no curve of risk and coverage"):
            curves[name] = abstention_of(each)
    if curves:
        output.save("risk-coverage", draw_risk_coverage(curves))


def _draw_one(name: str, scored: ScoredSplit, split: str, output: Output) -> None:
    right, wrong = scored.by_label(1), scored.by_label(0)
    output.save(f"{name}-scores", draw_score_distributions(right, wrong, title=f"Scores on {split}\n{name}"))
    bins = reliability(*scored.flat)
    output.save(f"{name}-calibration", draw_calibration(bins, title=f"Calibration on {split}\n{name}"))


def _draw_words(name: str, run: RunFolder, scored: ScoredSplit, output: Output) -> None:
    word_maps, choose_example = _load_word_maps()
    question, right, wrong = choose_example(scored)
    maps = word_maps(run, read_recipe(run), question, right, wrong)
    output.save(f"{name}-words", draw_heatmaps(maps, title=question))


def _load_word_maps() -> tuple[Callable[..., list[Heatmap]], Callable[[ScoredSplit], tuple[str, str, str]]]:
    try:
        from anselect.experiments.figures.word_maps import choose_example, word_maps
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    return word_maps, choose_example


@contextmanager
def _optional(what: str) -> Iterator[None]:
    """Note what cannot be drawn, and why, and go on with the rest."""
    try:
        yield
    except AnselectError as error:
        logger.info("%s: %s", what, error)
