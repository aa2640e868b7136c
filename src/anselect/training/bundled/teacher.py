"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is the labels, where there are any, and the cosine of the encoder that nobody fine-tuned. Labels alone make
an encoder forget what it knew of long answers and of other subjects; the cosine beside them keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from anselect.data.reading import read_questions, write_questions
from anselect.evaluation.calibration import Numbers
from anselect.records import Question
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build, StageFiles
from anselect.training.rows import TEACHER

LABEL_LOGIT: Final = 3.0
"""What a right label adds to a logit and a wrong one takes away."""
UNLABELLED_LOGIT: Final = -2.0
"""Where nobody has judged, most candidates are wrong."""
COSINE_SPREAD: Final = 1.5
"""How far a list's cosines spread as logits, where they count in full."""
TINY: Final = 1e-6
"""The least spread that says anything."""


def write_taught(build: Build, stage: str, files: StageFiles) -> StageFiles:
    """Write a stage's training lists with the teacher's logits beside them, once; the dev file stays."""
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        sources = build.mixture.stage(stage)
        # A list's id begins with the place of its source.
        shares = [sources[int(question.id.split("-", 1)[0])].cosine for question in lists]
        cosines = _cosines(build.encoder, lists, shares)
        write_questions((taught_list(*each) for each in zip(lists, cosines, shares, strict=True)), taught.train)
    return taught


def cosine_logits(cosines: Sequence[float], share: float) -> Numbers:
    """Bring one list's cosines to mean 0 and the spread of a share of `COSINE_SPREAD`.

    >>> cosine_logits([0.1, 0.9], 0.5).tolist()
    [-0.75, 0.75]
    """
    known = np.asarray(cosines, dtype=np.float64)
    spread = float(known.std())
    if spread < TINY:
        return np.zeros_like(known)
    logits: Numbers = share * COSINE_SPREAD * (known - known.mean()) / spread
    return logits


def taught_list(question: Question, cosines: Sequence[float], share: float) -> Question:
    """Return the list with a teacher's logit for each candidate; one that nobody judged counts as wrong elsewhere."""
    candidates = []
    for candidate, logit in zip(question.candidates, cosine_logits(cosines, share), strict=True):
        known = UNLABELLED_LOGIT if candidate.label is None else LABEL_LOGIT * (2 * candidate.label - 1)
        note = {**candidate.metadata, TEACHER: f"{logit + known:.4f}"}
        candidates.append(replace(candidate, label=candidate.label or 0, metadata=note))
    return replace(question, candidates=tuple(candidates))


def _cosines(encoder: str, lists: Sequence[Question], shares: Sequence[float]) -> list[Sequence[float]]:
    """Return the cosines of each list, zeros where they do not count."""
    wanted = [question for question, share in zip(lists, shares, strict=True) if share]
    found = iter(cosine_scorer(encoder)(wanted)) if wanted else iter(())
    return [
        next(found) if share else [0.0] * len(question.candidates)
        for question, share in zip(lists, shares, strict=True)
    ]
