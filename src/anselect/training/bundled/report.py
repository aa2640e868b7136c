"""An engine folder in, its figures out: on every test set beside BM25 and the untouched encoder, and by answer type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from anselect.data.files import write_text
from anselect.engine.ranker import load_engine
from anselect.evaluation.answer_types import values_by_answer_type
from anselect.evaluation.baselines import score_bm25
from anselect.evaluation.evaluate import Evaluation
from anselect.modeling.precision import fast_products
from anselect.training.bundled.cosine import cosine_scorer
from anselect.training.bundled.data import Build
from anselect.training.bundled.measure import NamedSet, Score, evaluate_set, held_out_sets, measure_set, scorer

TYPED_SETS: Final = ("wikiqa", "trecqa")
BASELINES: Final = "baselines.json"


def measure_engine(build: Build, folder: Path) -> dict[str, Any]:
    """Measure an engine folder on all test sets; scores are those that users see."""
    sets = held_out_sets(build)
    score = scorer(load_engine(folder))
    evaluations = [(each, evaluate_set(each, score)) for each in sets]
    return {
        "sets": _beside_baselines(evaluations, build),
        "answer_types": {
            each.name: _by_answer_type(each, evaluation) for each, evaluation in evaluations if each.name in TYPED_SETS
        },
    }


def compare(sets: Sequence[NamedSet], score: Score, build: Build) -> dict[str, dict[str, Any]]:
    """Return each set's figure for the model, in fast products, BM25 and the cosine of the untouched encoder."""
    with fast_products():
        evaluations = [(each, evaluate_set(each, score)) for each in sets]
    return _beside_baselines(evaluations, build)


def _beside_baselines(evaluations: Sequence[tuple[NamedSet, Evaluation]], build: Build) -> dict[str, dict[str, Any]]:
    baselines = measure_baselines([each for each, _ in evaluations], build)
    return {
        each.name: {
            "questions": evaluation.questions,
            "protocol": each.protocol,
            "measure": each.measure,
            "model": evaluation.measures[each.measure].value,
            **baselines[each.name],
        }
        for each, evaluation in evaluations
    }


def measure_baselines(sets: Sequence[NamedSet], build: Build) -> dict[str, dict[str, float]]:
    """Return what BM25 and the untouched encoder's cosine get on each set.

    They are the same for every model and take longer than it: what was measured stands in the build's folder, by the
    encoder and by all that the set holds.
    """
    path = build.folder / BASELINES
    known: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    cosine: Score | None = None
    keys = {each.name: _key(each, build.encoder) for each in sets}
    for each in sets:
        if keys[each.name] not in known:
            cosine = cosine or cosine_scorer(build.encoder)
            known[keys[each.name]] = {"bm25": measure_set(each, score_bm25), "cosine": measure_set(each, cosine)}
            with write_text(path) as file:
                json.dump(known, file, indent=2)
    return {name: known[key] for name, key in keys.items()}


def _key(each: NamedSet, encoder: str) -> str:
    held = repr((encoder, each.protocol, each.measure, list(each.questions)))
    return f"{each.name} {hashlib.sha256(held.encode()).hexdigest()}"


def _by_answer_type(each: NamedSet, evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Return number of questions and MAP for each expected answer type (coarse)."""
    values = values_by_answer_type(evaluation, each.questions)
    return {kind: {"questions": len(own), "MAP": sum(own) / len(own)} for kind, own in sorted(values.items())}
