"""Trained rankers behind one face: prepared questions in, a score for each candidate out; kept in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from anselect.errors import DataError
from anselect.modeling.checkpoint import load_checkpoint, save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.scoring import score_pairs
from anselect.modeling.siamese import SiameseModel
from anselect.modeling.siamese_ranker import SiameseRanker, open_features
from anselect.modeling.sides_apart import give_sides_class_tokens
from anselect.records import Question, ScoredQuestions


class TrainedRanker(Protocol):
    """A model with all it needs to score questions that the text steps have prepared."""

    @property
    def model(self) -> PreTrainedModel:
        """The network."""

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score every candidate."""

    def save(self, folder: Path) -> None:
        """Write the ranker to a folder that appears whole."""


@dataclass(frozen=True, slots=True)
class CrossEncoderRanker:
    """A cross-encoder with its tokenizer."""

    model: AnswerSelectionModel
    tokenizer: PreTrainedTokenizerBase

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score every candidate by P(correct)."""
        asked = [question.text for question in questions for _ in question.candidates]
        texts = [candidate.text for question in questions for candidate in question.candidates]
        scored = score_pairs(self.model, self.tokenizer, asked, texts)
        return ScoredQuestions.from_flat(questions, scored.scores, scored.cut_candidates)

    def save(self, folder: Path) -> None:
        """Write model and tokenizer."""
        save_checkpoint(self.model, self.tokenizer, folder)


def load_ranker(folder: Path) -> TrainedRanker:
    """Read a ranker back from its folder, ready to score."""
    checkpoint = load_checkpoint(folder)
    if isinstance(checkpoint.model, SiameseModel):
        source: Any = checkpoint.config
        features = open_features(source.feature_kind, source.features, max_tokens=source.max_tokens)
        return SiameseRanker(checkpoint.model, features)
    if checkpoint.tokenizer is None:
        raise DataError("expected a tokenizer beside the model, there is none", path=folder)
    model = cast(AnswerSelectionModel, checkpoint.model)
    if model.config.sides_apart:
        give_sides_class_tokens(checkpoint.tokenizer)  # the library's class has its own way with pairs
    return CrossEncoderRanker(model, checkpoint.tokenizer)
