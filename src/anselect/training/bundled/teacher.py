"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is the trained model, a larger one beside it or instead of it, the cosine of the encoder that nobody
fine-tuned, and the labels where there are any. What the encoder knew of long answers and of other subjects, and
fine-tuning made it forget, comes back in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.reading import read_questions, write_questions
from anselect.engine.folder import is_engine_folder
from anselect.engine.ranker import load_engine
from anselect.errors import UsageError
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import load_ranker
from anselect.records import Question
from anselect.training.bundled.advice import ADVICE, advise
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build, Source, StageFiles
from anselect.training.bundled.logits import as_logits, mixed_logits
from anselect.training.bundled.measure import Score
from anselect.training.rows import TEACHER

LABEL_LOGIT: Final = 1.0
"""What a right label adds to a logit and a wrong one takes away."""


def write_taught(build: Build, stage: str, teacher: Path, files: StageFiles, adviser: Path | None = None) -> StageFiles:
    """Write a stage's training lists with the teacher's logits beside them, once; the dev file stays.

    `adviser` is the larger model, for sources that ask for its advice.
    """
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        own = [build.mixture.source_of(stage, question) for question in lists]
        own_scores = _some(lists, [source.advice < 1 for source in own], _logit_scorer(teacher))
        advice = _some(lists, [source.advice > 0 for source in own], _advice_scorer(adviser, build.folder / ADVICE))
        cosines = _some(lists, [source.cosine > 0 for source in own], cosine_scorer(build.encoder))
        write_questions(
            (_taught(*each) for each in zip(lists, own, own_scores, advice, cosines, strict=True)),
            taught.train,
        )
    return taught


def _logit_scorer(teacher: Path) -> Score:
    ranker = load_engine(teacher) if is_engine_folder(teacher) else load_ranker(model_folder(teacher))
    return lambda questions: [as_logits(own).tolist() for own in ranker.score(questions).scores]


def _advice_scorer(adviser: Path | None, folder: Path) -> Score:
    def score(questions: Sequence[Question]) -> Sequence[Sequence[float]]:
        if adviser is None and questions:
            raise UsageError("expected a larger model: a source of this stage asks for its advice")
        return advise(adviser, questions, folder) if adviser else []

    return score


def _taught(
    question: Question, source: Source, own: Sequence[float], advice: Sequence[float], cosines: Sequence[float]
) -> Question:
    judged = (1.0 - source.advice) * np.asarray(own) + source.advice * np.asarray(advice)
    candidates = []
    for candidate, logit in zip(question.candidates, mixed_logits(judged, cosines, source.cosine), strict=True):
        known = 0.0 if candidate.label is None else LABEL_LOGIT * (2 * candidate.label - 1)
        note = {**candidate.metadata, TEACHER: f"{logit + known:.4f}"}
        candidates.append(replace(candidate, label=candidate.label or 0, metadata=note))
    return replace(question, candidates=tuple(candidates))


def _some(lists: Sequence[Question], wanted: Sequence[bool], score: Score) -> list[Sequence[float]]:
    """Score those lists that are wanted; zeros for the others."""
    found = iter(score([question for question, is_wanted in zip(lists, wanted, strict=True) if is_wanted]))
    return [
        next(found) if is_wanted else [0.0] * len(question.candidates)
        for question, is_wanted in zip(lists, wanted, strict=True)
    ]
