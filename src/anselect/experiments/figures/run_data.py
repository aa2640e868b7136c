"""A run's folder in, the plain numbers that figures are drawn from out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anselect.config import Recipe
from anselect.data.protocols import PROTOCOLS
from anselect.errors import DataError, MissingFileError
from anselect.evaluation.answer_types import values_by_answer_type
from anselect.evaluation.calibration import Abstention, measure_abstention
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.labelled_data import read_labelled_questions
from anselect.evaluation.run_scores import read_run_scores
from anselect.experiments.figures.bars import SystemResult
from anselect.experiments.figures.curves import TrainingCurve
from anselect.records import Question
from anselect.training.run_folder import RunFolder, read_recipe

MEASURES = ("MAP", "MRR")


@dataclass(frozen=True, slots=True)
class ScoredSplit:
    """The questions of a split with a run's scores; each question has candidates, each candidate a score."""

    questions: list[Question]
    scores: list[list[float]]

    def by_label(self, label: int) -> list[float]:
        """Return the scores of all right (1) or all wrong (0) candidates."""
        return [score for candidate, score in self._pairs() if candidate == label]

    @property
    def flat(self) -> tuple[list[float], list[int]]:
        """All scores, and the labels beside them."""
        pairs = list(self._pairs())
        return [score for _, score in pairs], [label for label, _ in pairs]

    def first_places(self) -> list[tuple[float, bool]]:
        """Return each question's best score, and whether the candidate that has it is right."""
        best = [int(np.argmax(own)) for own in self.scores]
        return [
            (own[place], question.candidates[place].is_correct)
            for question, own, place in zip(self.questions, self.scores, best, strict=True)
        ]

    def _pairs(self) -> list[tuple[int, float]]:
        return [
            (int(candidate.is_correct), score)
            for question, own in zip(self.questions, self.scores, strict=True)
            for candidate, score in zip(question.candidates, own, strict=True)
        ]


def open_runs(paths: Sequence[Path]) -> dict[str, RunFolder]:
    """Return runs by the shortest ends of their paths that tell them apart; raise MissingFileError for no run."""
    runs = [RunFolder(path) for path in dict.fromkeys(path.resolve() for path in paths)]
    for path, run in zip(paths, runs, strict=False):
        if not run.recipe.is_file():
            raise MissingFileError(f"{path}: expected a run's folder with recipe.toml, it is not there")
    most = max((len(run.path.parts) for run in runs), default=1)
    for length in range(1, most + 1):
        names = ["-".join(run.path.parts[-length:]) for run in runs]
        if len(set(names)) == len(names):
            break
    return dict(zip(names, runs, strict=True)) if runs else {}


def read_curve(name: str, run: RunFolder) -> TrainingCurve:
    """Read what a run logged; empty for one that had nothing to train. A resumed run's later entry of a step counts."""
    loss: dict[int, float] = {}
    dev_map: dict[int, float] = {}
    lines = run.log.read_text(encoding="utf-8").splitlines() if run.log.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            step = int(entry["step"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"expected a JSON object with a step, got {line[:40]!r}", path=run.log, line=number
            ) from error
        for key, values in (("loss", loss), ("eval_map", dev_map)):
            if key in entry:
                values[step] = float(entry[key])
    return TrainingCurve(name, tuple(sorted(loss.items())), tuple(sorted(dev_map.items())))


def read_results(runs: Mapping[str, RunFolder], split: str) -> list[SystemResult]:
    """Gather the finished runs of each recipe, encoder and data set, under the recipe's own protocol."""
    gathered: dict[str, dict[str, list[float]]] = {}
    for run in runs.values():
        if not run.is_finished:
            continue
        metrics: dict[str, Any] = json.loads(run.metrics.read_text(encoding="utf-8"))
        figures = metrics.get(split, {}).get(metrics["protocol"])
        if figures is None:
            continue
        recipe = read_recipe(run)
        encoder = Path(recipe.model.encoder).name.removesuffix(".txt")
        label = f"{recipe.name}, {encoder}, {'own files' if recipe.data.train else recipe.data.name}"
        values = gathered.setdefault(label, {measure: [] for measure in MEASURES})
        for measure in MEASURES:
            values[measure].append(figures[measure])
    return [SystemResult(label, values) for label, values in gathered.items()]


def read_scored_split(run: RunFolder, recipe: Recipe, split: str, data_dir: Path | None) -> ScoredSplit:
    """Read a split's questions and the scores that the run gave them; raise where either is not there."""
    own = recipe.data.dev if split == "dev" else recipe.data.test
    data = read_labelled_questions(own or recipe.data.name, split, data_dir=data_dir)
    questions = [question for question in data.questions if question.candidates]
    scores = read_run_scores(run.ranking(split), questions).scores
    whole = [[score for score in own_scores if score is not None] for own_scores in scores]
    if any(len(question.candidates) != len(own) for question, own in zip(questions, whole, strict=True)):
        raise DataError("expected a score for every candidate, some have none", path=run.ranking(split))
    return ScoredSplit(questions, whole)


def average_precisions_by_type(scored: ScoredSplit) -> dict[str, list[float]]:
    """Return the average precision of every question with a correct candidate, by its answer type."""
    found = evaluate_scores(scored.questions, scored.scores, protocol=PROTOCOLS["answerable"], measures=("MAP",))
    return values_by_answer_type(found, scored.questions)


def abstention_of(scored: ScoredSplit) -> Abstention:
    """Measure the decision that nothing answers a question; raise DataError where every question has an answer."""
    best, right = zip(*scored.first_places(), strict=True)
    return measure_abstention(best, right, [question.has_positive for question in scored.questions])
