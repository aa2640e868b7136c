"""An engine folder in, its figures out: on every test set beside BM25 and the untouched encoder, and by answer type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anselect.data.protocols import PROTOCOLS
from anselect.engine.ranker import load_engine
from anselect.evaluation.baselines import score_bm25
from anselect.evaluation.evaluate import evaluate_scores
from anselect.records import Question
from anselect.text.answer_type import detect_answer_types
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build
from anselect.training.bundled.measure import NamedSet, Score, held_out_sets, measure_set

TYPED_SETS = ("wikiqa", "trecqa")


def measure_engine(build: Build, folder: Path) -> dict[str, Any]:
    """Measure an engine folder on all test sets; scores are those that users see."""
    engine = load_engine(folder)

    def score(questions: Sequence[Question]) -> Sequence[Sequence[float]]:
        return engine.score(questions).scores

    sets = held_out_sets(build)
    return {
        "sets": compare(sets, score, build.encoder),
        "answer_types": {each.name: by_answer_type(each, score) for each in sets if each.name in TYPED_SETS},
    }


def compare(sets: Sequence[NamedSet], score: Score, encoder: str) -> dict[str, dict[str, Any]]:
    """Return each set's figure for the model, BM25 and the cosine of the untouched encoder."""
    cosine = cosine_scorer(encoder)
    return {
        each.name: {
            "questions": _counted(each),
            "protocol": each.protocol,
            "measure": each.measure,
            "model": measure_set(each, score),
            "bm25": measure_set(each, score_bm25),
            "cosine": measure_set(each, cosine),
        }
        for each in sets
    }


def by_answer_type(each: NamedSet, score: Score) -> dict[str, dict[str, float]]:
    """Return number of questions and MAP for each expected answer type (coarse)."""
    protocol = PROTOCOLS[each.protocol]
    evaluation = evaluate_scores(each.questions, score(each.questions), protocol=protocol, measures=["MAP"])
    texts = {question.id: question.text for question in each.questions}
    kinds = detect_answer_types(texts[question_id] for question_id in evaluation.question_ids)
    values: dict[str, list[float]] = defaultdict(list)
    for question_id, kind in zip(evaluation.question_ids, kinds, strict=True):
        values[kind.coarse].append(evaluation.per_question[question_id]["MAP"])
    return {kind: {"questions": len(own), "MAP": sum(own) / len(own)} for kind, own in sorted(values.items())}


def _counted(each: NamedSet) -> int:
    blank = [[0.0] * len(question.candidates) for question in each.questions]
    return len(evaluate_scores(each.questions, blank, protocol=PROTOCOLS[each.protocol], measures=["MAP"]).question_ids)
