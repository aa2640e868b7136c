"""A trained model's folder in, a ranker for the selector out: text steps as in training, then the model's scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anselect.errors import DataError
from anselect.modeling.rankers import TrainedRanker, load_ranker
from anselect.records import Question, ScoredQuestions
from anselect.text.steps import NONE, TextSteps

MODEL_FOLDER = "model"


class ModelRanker:
    """Scores plain questions: a model that was trained on highlighted texts is never shown others."""

    def __init__(self, ranker: TrainedRanker, name: str) -> None:
        config: Any = ranker.model.config
        self._ranker = ranker
        self._steps = TextSteps(**getattr(config, "text_steps", {}))
        trained_on = getattr(config, "highlight", None) or NONE
        if self._steps.highlight != trained_on:
            # Scores of a model on texts of another kind look right and are not.
            message = f"{name}: trained on highlighting '{trained_on}', its text steps say '{self._steps.highlight}'"
            raise DataError(f"{message}: train it again, or mend config.json")
        self._trained: dict[str, Any] = getattr(config, "trained", {})
        self._name = name

    @property
    def description(self) -> str:
        """Name the model and what it was trained by."""
        recipe = self._trained.get("recipe", "unknown recipe")
        return f"model {self._name} ({recipe}, dev MAP {self._trained.get('dev_map', float('nan')):.4f})"

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score the candidates of questions, prepared as in training."""
        return self._ranker.score(list(self._steps.apply(questions)))


def load_model_ranker(folder: Path) -> ModelRanker:
    """Load the model of a run's folder, or of a model's own."""
    model = folder / MODEL_FOLDER
    return ModelRanker(load_ranker(model if model.is_dir() else folder), str(folder))
