"""A run and a question of its data in, heat maps out: the words in frozen features, then in the trained model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anselect.config import Recipe
from anselect.errors import DataError
from anselect.experiments.figures.heatmaps import Heatmap
from anselect.experiments.figures.run_data import ScoredSplit
from anselect.modeling.explained_model import load_explained_model
from anselect.modeling.similarity import WordSimilarity, feature_similarity, open_word_features
from anselect.records import Question
from anselect.text.explain_texts import plain_text
from anselect.training.run_folder import RunFolder

MOST_WORDS = 15
"""Longest candidate to show, in words between blanks: with its punctuation it fits one line."""
MODEL_WORDS = {"siamese": "siamese encoder", "cross-encoder": "fine-tuned, last layer"}


def choose_example(scored: ScoredSplit) -> tuple[str, str, str]:
    """Return a question, its best-scored right candidate and its best-scored wrong one: the first that fit one line."""
    for question, scores in zip(scored.questions, scored.scores, strict=True):
        right, wrong = _best(question, scores, 1), _best(question, scores, 0)
        if right and wrong and max(len(right.split()), len(wrong.split())) <= MOST_WORDS:
            return question.text, right, wrong
    raise DataError("expected a question with a short right and a short wrong candidate, got none")


def word_maps(run: RunFolder, recipe: Recipe, question: str, right: str, wrong: str) -> list[Heatmap]:
    """Compare a question's words with those of a right and a wrong candidate, before and after training."""
    features = open_word_features(recipe.model.features, recipe.model.encoder, max_tokens=recipe.model.max_tokens)
    candidates = {"right candidate": right, "wrong candidate": wrong}
    asked = plain_text(question)
    frozen = [feature_similarity(features, asked, plain_text(text)) for text in candidates.values()]
    trained = load_explained_model(run.path).similarities(question, list(candidates.values()))
    name = Path(recipe.model.encoder).name.removesuffix(".txt")
    maps = [
        as_heatmap(found, f"{source}: {candidate}")
        for source, own in ((f"frozen features of {name}", frozen), (MODEL_WORDS[recipe.model.kind], trained))
        for candidate, found in zip(candidates, own, strict=True)
    ]
    return maps


def as_heatmap(similarity: WordSimilarity, title: str) -> Heatmap:
    """Give a table of similarities a title."""
    return Heatmap(title, similarity.question, similarity.candidate, similarity.cosines)


def _best(question: Question, scores: Sequence[float], label: int) -> str | None:
    found = [
        (score, candidate.text)
        for candidate, score in zip(question.candidates, scores, strict=True)
        if int(candidate.is_correct) == label
    ]
    return max(found)[1] if found else None
