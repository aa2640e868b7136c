"""An engine folder in, its figures out: on every test set beside BM25 and the untouched encoder, and by answer type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from anselect.engine.ranker import load_engine
from anselect.evaluation.answer_types import values_by_answer_type
from anselect.evaluation.baselines import score_bm25
from anselect.evaluation.evaluate import Evaluation
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build
from anselect.training.bundled.measure import NamedSet, Score, evaluate_set, held_out_sets, measure_set, scorer

TYPED_SETS: Final = ("wikiqa", "trecqa")


def measure_engine(build: Build, folder: Path) -> dict[str, Any]:
    """Measure an engine folder on all test sets; scores are those that users see."""
    sets = held_out_sets(build)
    score = scorer(load_engine(folder))
    evaluations = [(each, evaluate_set(each, score)) for each in sets]
    return {
        "sets": _beside_baselines(evaluations, build.encoder),
        "answer_types": {
            each.name: _by_answer_type(each, evaluation) for each, evaluation in evaluations if each.name in TYPED_SETS
        },
    }


def compare(sets: Sequence[NamedSet], score: Score, encoder: str) -> dict[str, dict[str, Any]]:
    """Return each set's figure for the model, BM25 and the cosine of the untouched encoder."""
    return _beside_baselines([(each, evaluate_set(each, score)) for each in sets], encoder)


def _beside_baselines(evaluations: Sequence[tuple[NamedSet, Evaluation]], encoder: str) -> dict[str, dict[str, Any]]:
    cosine = cosine_scorer(encoder)
    return {
        each.name: {
            "questions": evaluation.questions,
            "protocol": each.protocol,
            "measure": each.measure,
            "model": evaluation.measures[each.measure].value,
            "bm25": measure_set(each, score_bm25),
            "cosine": measure_set(each, cosine),
        }
        for each, evaluation in evaluations
    }


def _by_answer_type(each: NamedSet, evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Return number of questions and MAP for each expected answer type (coarse)."""
    values = values_by_answer_type(evaluation, each.questions)
    return {kind: {"questions": len(own), "MAP": sum(own) / len(own)} for kind, own in sorted(values.items())}
