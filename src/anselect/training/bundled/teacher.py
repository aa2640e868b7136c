"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is a larger trained model, the cosine of the encoder that nobody fine-tuned, and the labels. What the
encoder knew of long answers and of other subjects, and fine-tuning would make it forget, is kept in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.reading import read_questions, write_questions
from anselect.records import Question
from anselect.training.bundled.advice import ADVICE, advise
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build, StageFiles
from anselect.training.bundled.logits import mixed_logits
from anselect.training.bundled.measure import Score
from anselect.training.rows import TEACHER

LABEL_LOGIT: Final = 1.0
"""What a right label adds to the larger model's logit and a wrong one takes away."""
LONE_LABEL_LOGIT: Final = 3.0
"""The same where the larger model was not asked."""


def write_taught(build: Build, stage: str, files: StageFiles, adviser: Path | None) -> StageFiles:
    """Write a stage's training lists with the teacher's logits beside them, once; the dev file stays.

    `adviser` is the larger model, where the building names no other for a data set; without one the labels say alone
    what is right.
    """
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        own = [build.mixture.source_of(stage, question) for question in lists]
        advisers = [build.teachers.get(source.data, adviser) if source.advice else None for source in own]
        advice = _advice(lists, advisers, build.folder / ADVICE)
        cosines = _some(lists, [source.cosine > 0 for source in own], cosine_scorer(build.encoder))
        weights = [LONE_LABEL_LOGIT if asked is None else LABEL_LOGIT for asked in advisers]
        shares = [source.cosine for source in own]
        each = zip(lists, shares, weights, advice, cosines, strict=True)
        write_questions((_taught(*parts) for parts in each), taught.train)
    return taught


def _advice(lists: Sequence[Question], advisers: Sequence[Path | None], folder: Path) -> list[list[float]]:
    """Return what each list's own adviser says of its candidates; zeros where none is asked."""
    found = [[0.0] * len(question.candidates) for question in lists]
    for adviser in dict.fromkeys(each for each in advisers if each is not None):
        places = [place for place, each in enumerate(advisers) if each == adviser]
        said = advise(adviser, [lists[place] for place in places], folder)
        for place, logits in zip(places, said, strict=True):
            found[place] = logits
    return found


def _taught(
    question: Question, share: float, label_logit: float, advice: Sequence[float], cosines: Sequence[float]
) -> Question:
    labels = np.array([0.0 if each.label is None else 2.0 * each.label - 1.0 for each in question.candidates])
    logits = mixed_logits(np.asarray(advice) + label_logit * labels, cosines, share)
    candidates = (
        replace(candidate, label=candidate.label or 0, metadata={**candidate.metadata, TEACHER: f"{logit:.4f}"})
        for candidate, logit in zip(question.candidates, logits, strict=True)
    )
    return replace(question, candidates=tuple(candidates))


def _some(lists: Sequence[Question], wanted: Sequence[bool], score: Score) -> list[Sequence[float]]:
    """Score those lists that are wanted; zeros for the others."""
    found = iter(score([question for question, is_wanted in zip(lists, wanted, strict=True) if is_wanted]))
    return [
        next(found) if is_wanted else [0.0] * len(question.candidates)
        for question, is_wanted in zip(lists, wanted, strict=True)
    ]
