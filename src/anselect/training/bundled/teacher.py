"""Training lists in, the same lists out with what a teacher says of each candidate.

The teacher is the trained model, the cosine of an encoder that nobody fine-tuned, and the labels where there are any.
What the encoder knew of long answers and of other subjects, and fine-tuning made it forget, comes back in this way; a
larger encoder, the adviser, knows more of answers that share no words with their questions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.files import write_text
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
    """Write the training lists with the teacher's logits beside them, once; the dev file stays.

    Cosines are kept source by source: a lesson that was stopped does not compute them again.
    """
    taught = StageFiles(files.train.with_suffix(".taught.jsonl"), files.dev)
    if not taught.train.is_file():
        lists = list(read_questions(files.train))
        cosines = _cosines(build, lists)
        scores = load_ranker(model_folder(teacher)).score(lists).scores
        write_questions(
            (_taught(question, own, cosines.get(question.id)) for question, own in zip(lists, scores, strict=True)),
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


@dataclass(frozen=True, slots=True)
class _Advice:
    """What an untouched encoder says of one list's candidates."""

    cosines: Sequence[float]
    share: float
    """How much it counts."""


def _taught(question: Question, scores: Sequence[float], advice: _Advice | None) -> Question:
    mixed = as_logits(scores)
    if advice is not None:
        mixed = mixed_logits(mixed, advice.cosines, advice.share)
    candidates = []
    for candidate, logit in zip(question.candidates, mixed, strict=True):
        known = 0.0 if candidate.label is None else LABEL_LOGIT * (2 * candidate.label - 1)
        note = {**candidate.metadata, TEACHER: f"{logit + known:.4f}"}
        candidates.append(replace(candidate, label=candidate.label or 0, metadata=note))
    return replace(question, candidates=tuple(candidates))


def _cosines(build: Build, lists: Sequence[Question]) -> dict[str, _Advice]:
    """Return the advice on those lists that get any, by their ids, which begin with the source's place."""
    advice: dict[str, _Advice] = {}
    by_source: dict[int, list[Question]] = defaultdict(list)
    for question in lists:
        by_source[int(question.id.split("-", 1)[0])].append(question)
    for place, own in sorted(by_source.items()):
        source = build.mixture.distil[place]
        is_advised = bool(build.adviser and source.advised)
        share = source.advised if is_advised else source.cosine
        if not share:
            continue
        path = build.folder / f"cosines-{place}.json"
        if not path.is_file():
            found = cosine_scorer(build.adviser if is_advised else build.encoder)(own)
            with write_text(path) as file:
                json.dump(found, file)
        known = json.loads(path.read_text(encoding="utf-8"))
        advice |= {question.id: _Advice(each, share) for question, each in zip(own, known, strict=True)}
    return advice
