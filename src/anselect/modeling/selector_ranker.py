"""A model's folder or Hub id in, a ranker for the selector out: text steps as in training, then the model's scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from anselect.errors import DataError
from anselect.modeling.checkpoint import CONFIG, MANIFEST, MODELS, model_folder
from anselect.modeling.classifier_ranker import ClassifierRanker, load_classifier
from anselect.modeling.hub import find_model
from anselect.modeling.rankers import TrainedRanker, load_ranker
from anselect.records import Question, ScoredQuestions
from anselect.text.steps import NONE, TextSteps


class ModelRanker:
    """Scores plain questions: a model that was trained on highlighted texts is never shown others."""

    def __init__(self, ranker: TrainedRanker, name: str) -> None:
        config: Any = ranker.model.config
        self._ranker = ranker
        self.steps = TextSteps(**getattr(config, "text_steps", {}))
        trained_on = getattr(config, "highlight", None) or NONE
        if self.steps.highlight != trained_on:
            # Scores of a model on texts of another kind look right and are not.
            message = f"{name}: trained on highlighting '{trained_on}', its text steps say '{self.steps.highlight}'"
            raise DataError(f"{message}: train it again, or mend config.json")
        self._trained: dict[str, Any] = getattr(config, "trained", {})
        self._max_tokens: int = config.max_tokens
        self._name = name

    @property
    def description(self) -> str:
        """Name the model and what it was trained by."""
        recipe = self._trained.get("recipe", "unknown recipe")
        return f"model {self._name} ({recipe}, dev MAP {self._trained.get('dev_map', float('nan')):.4f})"

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score the candidates of questions, prepared as in training."""
        return replace(self._ranker.score(list(self.steps.apply(questions))), max_tokens=self._max_tokens)


def load_model_ranker(model: str | PathLike[str]) -> ModelRanker | ClassifierRanker:
    """Load the model of a run's folder, of a model's own or of a Hub id: one of ours, or a plain classifier of pairs.

    Raises MissingFileError where there is none, DataError (one line) for a folder that holds something else.
    """
    name = fspath(model)
    folder = model_folder(find_model(name))
    return ModelRanker(load_ranker(folder), name) if _is_ours(folder) else load_classifier(folder, name)


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder is, or once was, a checkpoint of ours; what is wrong with it is said on loading."""
    config = folder / CONFIG
    if (folder / MANIFEST).is_file() or not config.is_file():
        return True
    try:
        return json.loads(config.read_text(encoding="utf-8")).get("model_type") in MODELS
    except (ValueError, AttributeError):
        return False
