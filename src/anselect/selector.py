"""What users load: a ranker behind `rank` and `rank_many`, with the caller's input checked in one place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Protocol

from anselect.errors import AnselectError, MissingFileError, UsageError
from anselect.records import Question, Ranking, ScoredCandidate

Unranked = Question | tuple[str, Sequence[str]]
"""What `rank_many` takes: a Question record, or (question, candidates) as plain text."""


class Ranker(Protocol):
    """Gives each candidate of a question a score in (0, 1); higher is better."""

    @property
    def description(self) -> str:
        """One line that tells a user what ranks: shown by `anselect rank` and `anselect doctor`."""

    def score(self, question: str, candidates: Sequence[str]) -> Sequence[float]:
        """Return one score per candidate, in the order of the candidates."""


class LexicalRanker:
    """BM25 over the candidates: shared words only, no training. Stands in where no trained model is at hand.

    A BM25 score b ≥ 0 becomes (b + 0.5) / (b + 1), which keeps the order and lies in [0.5, 1): it is no probability.
    """

    description = (
        "lexical ranker (BM25 over the candidates: shared words only, no trained model, scores not calibrated)"
    )

    def score(self, question: str, candidates: Sequence[str]) -> list[float]:
        """Score by BM25 with the candidates themselves as the collection."""
        from anselect.evaluation.lexical import rank_lexically

        return [(score + 0.5) / (score + 1.0) for score in rank_lexically(question, candidates)]


class AnswerSelector:
    """Ranks candidate answers with the given ranker."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker

    @property
    def description(self) -> str:
        """One line on what ranks."""
        return self._ranker.description

    def rank(self, question: str, candidates: Sequence[str], *, top_k: int | None = None) -> Ranking:
        """Order the candidates, best first; equal scores keep the caller's order, the caller's list is not changed."""
        return self._rank(question, candidates, ids=None, top_k=top_k)

    def rank_many(self, questions: Iterable[Unranked], *, top_k: int | None = None) -> Iterator[Ranking]:
        """Rank question after question as they come: one ranking per question, in order, in bounded memory."""
        for question in questions:
            if isinstance(question, Question):
                texts = [candidate.text for candidate in question.candidates]
                ids = [candidate.id for candidate in question.candidates]
                yield self._rank(question.text, texts, ids=ids, top_k=top_k)
            else:
                yield self._rank(question[0], question[1], ids=None, top_k=top_k)

    def _rank(
        self, question: str, candidates: Sequence[str], *, ids: Sequence[str] | None, top_k: int | None
    ) -> Ranking:
        texts = _checked_texts(question, candidates, top_k)
        scores = self._ranker.score(question, texts) if texts else []
        for place, score in enumerate(scores):
            if not math.isfinite(score):
                raise AnselectError(
                    f"expected a finite score, got {score} for candidate {place}: {texts[place][:60]!r}"
                )
        order = sorted(range(len(texts)), key=lambda place: -scores[place])  # stable: ties keep the caller's order
        places = (
            ScoredCandidate(index=place, text=texts[place], score=float(scores[place]), id=ids[place] if ids else None)
            for place in order[:top_k]
        )
        return Ranking(question=question, candidates=tuple(places))


def load(model: str | PathLike[str] | None = None) -> AnswerSelector:
    """Load a selector; while no trained model ships, this is the lexical ranker, and its description says so."""
    if model is not None:
        raise MissingFileError(
            f"{model}: no such model; models are not part of this version: call load() without a name"
        )
    return AnswerSelector(LexicalRanker())


def _checked_texts(question: str, candidates: Sequence[str], top_k: int | None) -> list[str]:
    if not isinstance(question, str):
        raise UsageError(f"expected the question as text, got {type(question).__name__}")
    if not question.strip():
        raise UsageError("expected a question, got blank text")
    if isinstance(candidates, str):
        raise UsageError("expected a list of candidates, got one text: put it into a list")
    if top_k is not None and top_k < 0:
        raise UsageError(f"expected top_k of 0 or more, got {top_k}")
    texts = list(candidates)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"expected text as candidate {place}, got {type(text).__name__}")
    return texts
