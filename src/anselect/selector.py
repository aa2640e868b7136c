"""What users load: a ranker behind `rank` and `rank_many`, with the caller's input checked in one place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anselect.engine.folder import model_path
from anselect.errors import AnselectError, MissingExtraError, UsageError
from anselect.records import Candidate, Question, Ranking, ScoredCandidate, ScoredQuestions
from anselect.text.texts import each_text, require_text

if TYPE_CHECKING:
    from anselect.engine.ranker import Long
    from anselect.text.steps import TextSteps

Unranked = Question | tuple[str, Sequence[str]]
"""What `rank_many` takes: a Question record, or (question, candidates) as plain text."""


class Ranker(Protocol):
    """Gives each candidate of a question a score in (0, 1); higher is better."""

    @property
    def description(self) -> str:
        """One line that tells a user what ranks: shown by `anselect rank` and `anselect doctor`."""

    @property
    def steps(self) -> TextSteps:
        """What it does to texts before it reads them."""

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Return one score per candidate, in the order of questions and candidates."""


class AnswerSelector:
    """Ranks candidate answers with the given ranker."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker

    @property
    def description(self) -> str:
        """One line on what ranks."""
        return self._ranker.description

    @property
    def steps(self) -> TextSteps:
        """What happens to texts before they are ranked."""
        return self._ranker.steps

    def rank(self, question: str, candidates: Sequence[str], *, top_k: int | None = None) -> Ranking:
        """Order the candidates, best first; equal scores keep the caller's order, the caller's list is not changed."""
        return self._rank(_as_record(question, candidates), has_ids=False, top_k=top_k)

    def rank_many(self, questions: Iterable[Unranked], *, top_k: int | None = None) -> Iterator[Ranking]:
        """Rank question after question as they come: one ranking per question, in order, in bounded memory."""
        for question in questions:
            if isinstance(question, Question):
                yield self._rank(question, has_ids=True, top_k=top_k)
            elif not isinstance(question, tuple | list) or len(question) != 2:
                raise UsageError(f"expected (question, candidates), got {type(question).__name__}: {question!r:.60}")
            else:
                yield self._rank(_as_record(*question), has_ids=False, top_k=top_k)

    def score_questions(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score the candidates of many questions at once, without ordering them."""
        for question in questions:
            _check(question)
        scored = self._ranker.score(questions)
        for question, scores in zip(questions, scored.scores, strict=True):
            for candidate, score in zip(question.candidates, scores, strict=True):
                if not math.isfinite(score):
                    raise AnselectError(f"expected a finite score, got {score} for candidate {candidate.text[:60]!r}")
        return scored

    def _rank(self, question: Question, *, has_ids: bool, top_k: int | None) -> Ranking:
        if top_k is not None and top_k < 0:
            raise UsageError(f"expected top_k of 0 or more, got {top_k}")
        candidates = question.candidates
        scored = self.score_questions([question])
        scores = [float(score) for score in scored.scores[0]]
        order = sorted(range(len(candidates)), key=lambda place: -scores[place])  # stable: ties keep the caller's order
        places = (
            ScoredCandidate(place, candidates[place].text, scores[place], candidates[place].id if has_ids else None)
            for place in order[:top_k]
        )
        return Ranking(question.text, tuple(places), scored.cut_candidates, scored.max_tokens)


def load(
    model: str | PathLike[str] | None = None, *, long: Long = "cut", cache: str | PathLike[str] | None = None
) -> AnswerSelector:
    """Load the bundled model (None or `bundled`), or one by its folder (a run's, a model's, an exported one) or Hub id.

    The bundled model and every folder that `anselect export` wrote need neither PyTorch nor a network. They alone take
    the options: `long` says what happens to a candidate that is too long (cut, or read in windows, of which the best
    counts), `cache` names a folder that keeps scores for the next time.
    """
    folder = model_path(model)
    from anselect.engine.folder import is_engine_folder

    if is_engine_folder(folder):
        from anselect.engine.ranker import load_engine

        return AnswerSelector(load_engine(folder, long=long, cache=None if cache is None else Path(cache)))
    if long != "cut" or cache is not None:
        raise UsageError(f"{model}: windows and caches are for exported models: run `anselect export` first")
    try:
        from anselect.modeling.selector_ranker import load_model_ranker
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    return AnswerSelector(load_model_ranker(str(model)))


def _as_record(question: str, candidates: Sequence[str]) -> Question:
    texts = enumerate(each_text(candidates, "candidate"))
    return Question("", question, tuple(Candidate(str(place), text) for place, text in texts))


def _check(question: Question) -> None:
    if not require_text(question.text, "the question").strip():
        raise UsageError("expected a question, got blank text")
    for place, candidate in enumerate(question.candidates):
        require_text(candidate.text, f"candidate {place}")
