"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is the trained model, the cosine of the encoder that nobody fine-tuned, and the labels where there are any.
What the encoder knew of long answers and of other subjects, and fine-tuning made it forget, comes back in this way.
Where lists teach what the model does not know yet, the labels stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.reading import read_questions, write_questions
from anselect.engine.folder import is_engine_folder
from anselect.engine.ranker import EngineRanker, load_engine
from anselect.evaluation.calibration import Numbers
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import TrainedRanker, load_ranker
from anselect.records import Question
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build, Source, StageFiles
from anselect.training.bundled.measure import Score, scorer
from anselect.training.rows import TEACHER

LABEL_LOGIT: Final = 1.0
"""What a right label adds to a logit and a wrong one takes away."""
LABEL_ALONE: Final = 3.0
"""The same where the label stands alone."""
TINY: Final = 1e-6
"""The least distance of a probability from 0 and 1, and the least spread that says anything."""


def write_taught(build: Build, stage: str, teacher: Path, files: StageFiles) -> StageFiles:
    """Write a stage's training lists with the teacher's logits beside them, once; the dev file stays."""
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        own = [build.mixture.source_of(stage, question) for question in lists]
        scores = _some(lists, [not source.labels_alone for source in own], scorer(_load(teacher)))
        cosines = _some(lists, [source.cosine > 0 for source in own], cosine_scorer(build.encoder))
        write_questions(
            (_taught(*each) for each in zip(lists, own, scores, cosines, strict=True)),
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


def _load(teacher: Path) -> TrainedRanker | EngineRanker:
    return load_engine(teacher) if is_engine_folder(teacher) else load_ranker(model_folder(teacher))


def _taught(question: Question, source: Source, scores: Sequence[float], cosines: Sequence[float]) -> Question:
    mixed = np.zeros(len(scores)) if source.labels_alone else mixed_logits(as_logits(scores), cosines, source.cosine)
    weight = LABEL_ALONE if source.labels_alone else LABEL_LOGIT
    candidates = []
    for candidate, logit in zip(question.candidates, mixed, strict=True):
        known = 0.0 if candidate.label is None else weight * (2 * candidate.label - 1)
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
