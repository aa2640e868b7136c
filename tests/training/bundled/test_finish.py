"""The engine folder that ships: calibrated on dev, the order untouched, figures beside BM25 and cosine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anselect.data.protocols import PROTOCOLS
from anselect.engine.folder import read_manifest
from anselect.engine.ranker import load_engine
from anselect.evaluation.answer_types import values_by_answer_type
from anselect.records import Question
from anselect.training.bundled.card import write_card
from anselect.training.bundled.data import Build
from anselect.training.bundled.finish import calibrate
from anselect.training.bundled.measure import NamedSet, evaluate_set, hard_sets, mean_figure, measure_sets, scorer
from anselect.training.bundled.report import BASELINES, compare, measure_baselines
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source
from tests.training.bundled.test_mean_model import save_model
from tests.training.tiny import learnable_questions

QUESTIONS = learnable_questions(20)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    source = load_source(save_model(folder / "run", 1))
    data = Calibration("tiny", QUESTIONS, QUESTIONS, PROTOCOLS["answerable"])
    export_engine(source, folder / "out", calibration=data, max_drift=1.0)
    return folder / "out"


def as_the_model_says(folder: Path) -> list[Question]:
    """Call the better half of all candidates right, and every fifth the other way round."""
    scored = load_engine(folder).score(QUESTIONS).scores
    middle = sorted(score for own in scored for score in own)[sum(map(len, scored)) // 2]
    return [
        replace(
            question,
            candidates=tuple(
                replace(candidate, label=int((score >= middle) != (place % 5 == 0)))
                for place, (candidate, score) in enumerate(zip(question.candidates, own, strict=True), start)
            ),
        )
        for start, (question, own) in enumerate(zip(QUESTIONS, scored, strict=True))
    ]


def test_calibrated_scores_promise_what_comes_true(engine: Path) -> None:
    dev = as_the_model_says(engine)
    before = load_engine(engine).score(dev).scores
    finished = calibrate(engine, dev)
    after = load_engine(engine).score(dev).scores
    labels = [candidate.label or 0 for question in dev for candidate in question.candidates]
    assert sum(map(sum, after)) == pytest.approx(sum(labels), rel=0.02)
    assert [np.argsort(own).tolist() for own in after] == [np.argsort(own).tolist() for own in before]
    manifest = read_manifest(engine)
    assert (manifest.temperature, manifest.bias) == (finished.temperature, finished.bias)
    assert "bundled model" in manifest.description


def test_figures_stand_beside_bm25_and_cosine(engine: Path) -> None:
    sets = [NamedSet("tiny", QUESTIONS), *hard_sets("dev")]
    ranker = load_engine(engine)
    build = Build(engine.parent, encoder=str(engine.parent / "run" / "bert"))
    found = compare(sets, scorer(ranker), build)
    assert [row["questions"] for row in found.values()] == [20, 50, 40]
    assert all(0.0 <= row[name] <= 1.0 for row in found.values() for name in ("model", "bm25", "cosine"))
    # The right candidate's words are the question's: see learnable_questions.
    assert found["hard"]["bm25"] < 0.1


def test_baselines_are_measured_once_for_what_a_set_holds(engine: Path, tmp_path: Path) -> None:
    build = Build(tmp_path, encoder=str(engine.parent / "run" / "bert"))
    first = measure_baselines([NamedSet("tiny", QUESTIONS)], build)
    path = tmp_path / BASELINES
    path.write_text(path.read_text().replace('"bm25": ', '"bm25": -'))
    assert measure_baselines([NamedSet("tiny", QUESTIONS)], build)["tiny"]["bm25"] == -first["tiny"]["bm25"]
    assert measure_baselines([NamedSet("tiny", QUESTIONS[1:])], build)["tiny"]["bm25"] > 0.0


def test_card_has_every_figure(engine: Path) -> None:
    ranker = load_engine(engine)
    evaluation = evaluate_set(NamedSet("wikiqa", QUESTIONS), scorer(ranker))
    values = values_by_answer_type(evaluation, QUESTIONS)
    assert sum(map(len, values.values())) == 20
    types = {kind: {"questions": len(own), "MAP": sum(own) / len(own)} for kind, own in values.items()}
    row = {"protocol": "243", "questions": 243, "measure": "MAP", "model": 0.8411, "bm25": 0.6, "cosine": 0.7}
    drift = {"map_original": 0.9, "map_exported": 0.8999, "kendall_tau": 0.98}
    bins = [{"mean_score": 0.9, "share_correct": 0.88, "count": 7}]
    card = write_card(
        {
            "max_tokens": 128,
            "exit": {"layer": 3, "chosen": 0.45},
            "sets": {"wikiqa": row},
            "leave_out": {"trecqa": {"trecqa": {**row, "model": 0.8222}}},
            "answer_types": {"wikiqa": types},
            "finish": {"drift": drift, "temperature": 1.5, "bias": -0.2, "calibration_error": 0.0123, "bins": bins},
            "sha256": "ab12",
            "bytes": 23_700_000,
        }
    )
    for figure in (
        "0.8411",
        "0.8222",
        "0.8999",
        "0.0123",
        "| 0.900 | 0.880 | 7 |",
        "23.7 MB",
        "`ab12`",
        "behind layer 3 (45% of the short ones",
    ):
        assert figure in card


def test_sets_count_alike_and_ties_as_a_draw_of_lots() -> None:
    halves = [NamedSet("a", QUESTIONS[:2]), NamedSet("b", QUESTIONS[2:], measure="P@1")]
    figures = measure_sets(halves, lambda questions: [[0.0] * len(question.candidates) for question in questions])
    assert set(figures) == {"a", "b"}
    assert 0.0 < figures["b"] < 1.0
    assert mean_figure(figures) == pytest.approx((figures["a"] + figures["b"]) / 2)
