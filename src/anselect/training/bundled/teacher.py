"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is the trained model, the cosine of the encoder that nobody fine-tuned, and the labels where there are any.
What the encoder knew of long answers and of other subjects, and fine-tuning made it forget, comes back in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.reading import read_questions, write_questions
from anselect.evaluation.calibration import Numbers
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import load_ranker
from anselect.records import Question
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build, StageFiles
from anselect.training.rows import TEACHER

LABEL_LOGIT: Final = 1.0
"""What a right label adds to a logit and a wrong one takes away."""
TINY: Final = 1e-6
"""The least distance of a probability from 0 and 1, and the least spread that says anything."""


def write_taught(build: Build, teacher: Path, files: StageFiles) -> StageFiles:
    """Write the training lists with the teacher's logits beside them, once; the dev file stays."""
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        scores = load_ranker(model_folder(teacher)).score(lists).scores
        shares = [_cosine_share(build, question) for question in lists]
        cosines = _cosines(build.encoder, lists, shares)
        write_questions(
            (_taught(*each) for each in zip(lists, scores, cosines, shares, strict=True)),
            taught.train,
        )
    return taught


def as_logits(scores: Sequence[float]) -> Numbers:
    """Turn P(correct) back into logits; what is as good as sure stays finite.

    >>> as_logits([0.5, 0.0]).round(1).tolist()
    [0.0, -13.8]
    """
    likely = np.clip(np.asarray(scores, dtype=np.float64), TINY, 1.0 - TINY)
    logits: Numbers = np.log(likely / (1.0 - likely))
    return logits


def mixed_logits(logits: Numbers, cosines: Sequence[float], share: float) -> Numbers:
    """Add to one list's logits its cosines, brought to the spread of the logits, times a share.

    >>> mixed_logits(np.array([2.0, 0.0]), [0.1, 0.9], 0.5).tolist()
    [1.5, 0.5]
    """
    other = np.asarray(cosines, dtype=np.float64)
    spread = float(other.std())
    if spread < TINY:
        return logits
    mixed: Numbers = logits + share * float(logits.std()) * (other - other.mean()) / spread
    return mixed


def _taught(question: Question, scores: Sequence[float], cosines: Sequence[float], share: float) -> Question:
    mixed = mixed_logits(as_logits(scores), cosines, share)
    candidates = []
    for candidate, logit in zip(question.candidates, mixed, strict=True):
        known = 0.0 if candidate.label is None else LABEL_LOGIT * (2 * candidate.label - 1)
        note = {**candidate.metadata, TEACHER: f"{logit + known:.4f}"}
        candidates.append(replace(candidate, label=candidate.label or 0, metadata=note))
    return replace(question, candidates=tuple(candidates))


def _cosine_share(build: Build, question: Question) -> float:
    """Return the share of the source that a list is of: its id begins with the source's place."""
    return build.mixture.distil[int(question.id.split("-", 1)[0])].cosine


def _cosines(encoder: str, lists: Sequence[Question], shares: Sequence[float]) -> list[Sequence[float]]:
    """Return the cosines of each list, zeros where they do not count."""
    wanted = [question for question, share in zip(lists, shares, strict=True) if share]
    found = iter(cosine_scorer(encoder)(wanted))
    return [
        next(found) if share else [0.0] * len(question.candidates)
        for question, share in zip(lists, shares, strict=True)
    ]
