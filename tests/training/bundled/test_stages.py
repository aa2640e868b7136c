"""All stages on a tiny encoder and small files: nothing evaluated is learnt, a set can be left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import anselect
from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import read_questions
from anselect.errors import DataError, UsageError
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Question, ScoredQuestions
from anselect.training.bundled.advice import advise, keep_advice
from anselect.training.bundled.data import Build, Mixture, Source, write_stage
from anselect.training.bundled.logits import as_logits
from anselect.training.bundled.mixture import ListPlan
from anselect.training.bundled.stages import SETTINGS, adapt, distil, lesson, train_adviser, transfer
from anselect.training.bundled.teacher import LABEL_LOGIT, write_taught
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source
from anselect.training.rows import TEACHER
from tests.training.tiny import save_tiny_bert

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
MIXTURE = Mixture(
    transfer=(Source("squad11-dev", "dev", ListPlan(8), "spans"),),
    adapt=(Source("wikiqa", "train", ListPlan(8)),),
    distil=(Source("wikiqa", "train", ListPlan(8), cosine=0.5), Source("squad11-dev", "dev", ListPlan(4), "spans")),
    adviser=(
        Source("forum", "written", ListPlan(6, positives=2), levelled=True),
        Source("wikiqa", "train", ListPlan(8)),
    ),
    lesson=(
        Source("forum", "written", ListPlan(6, positives=2), advice=1.0, levelled=True),
        Source("wikiqa", "train", ListPlan(8), advice=0.5),
        Source("squad11-dev", "dev", ListPlan(4), "spans"),
    ),
    dev=(Source("wikiqa", "dev", ListPlan(3, negatives=2)),),
    evaluated=(("wikiqa", "dev"), ("wikiqa", "test")),
    replayed=4,
)


def write_wikiqa(path: Path, numbers: Sequence[int]) -> None:
    rows = [HEADER]
    for number in numbers:
        right = f"bell made the red clock and the old lamp {number}"
        for place, (text, label) in enumerate([(right, 1), (f"the ship {number} is old", 0), ("rome", 0)]):
            rows.append(f"Q{number}\twho made the clock {number}\tD\tT\tD-{place}\t{text}\t{label}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    (root / "wikiqa").mkdir()
    (root / "transfer").mkdir()
    write_wikiqa(root / "wikiqa" / "WikiQA-train.tsv", [1, 2, 3, 4, 5, 21])
    write_wikiqa(root / "wikiqa" / "WikiQA-dev.tsv", [11, 12, 13])
    write_wikiqa(root / "wikiqa" / "WikiQA-test.tsv", [21, 22])
    passages = [
        {
            "id": f"p{number}",
            "question": f"Who made the book {number}?",
            "context": f"The book {number} is red. It was made by Bell{number} in Rome. The ship is old.",
            "answers": [{"text": f"Bell{number}", "start": len(f"The book {number} is red. It was made by ")}],
            "title": "Books",
        }
        for number in range(8)
    ]
    lines = "".join(json.dumps(passage) + "\n" for passage in passages)
    (root / "transfer" / "squad11_dev.jsonl.gz").write_text(lines)  # read by content: plain text will do
    save_tiny_bert(root / "bert")
    return root


def build(data: Path, folder: Path, *, leave_out: tuple[str, ...] = ()) -> Build:
    return Build(folder, MIXTURE, str(data / "bert"), leave_out=leave_out, data_dir=data, max_tokens=32)


def test_what_is_evaluated_is_not_learnt_and_counted(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path), "adapt")
    asked = {question.text.lower().rstrip("?") for question in read_questions(files.train)}
    assert not any("clock 21" in text for text in asked)
    assert {text for text in asked if "clock" in text} >= {"who made the clock 1", "who made the clock 5"}
    counts = json.loads((tmp_path / "adapt.audit.json").read_text())
    assert counts["wikiqa test"]["equal_questions"] == 1


def test_files_are_the_same_each_time_and_kept_once_written(data: Path, tmp_path: Path) -> None:
    first, again = (write_stage(build(data, tmp_path / name), "transfer") for name in ("a", "b"))
    assert first.train.read_bytes() == again.train.read_bytes()
    first.train.write_text("kept")
    assert write_stage(build(data, tmp_path / "a"), "transfer").train.read_text() == "kept"


def test_set_that_is_left_out_is_neither_learnt_nor_chosen_by(data: Path, tmp_path: Path) -> None:
    mixture_files = write_stage(build(data, tmp_path, leave_out=("wikiqa", "semeval")), "adapt")
    assert not any("clock" in question.text for question in read_questions(mixture_files.train))
    assert mixture_files.dev.read_text() == ""


def test_both_stages_train_a_model_that_ranks(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    adapted = adapt(own, transfer(own))
    assert json.loads((adapted / "metrics.json").read_text())["recipe"] == "bundled-adapt"
    assert (tmp_path / "transfer" / "metrics.json").is_file()
    ranking = anselect.load(adapted).rank("who made the lamp", ["the lamp is old", "bell made the lamp"])
    assert len(ranking) == 2


def test_the_teacher_is_the_model_with_labels_and_where_it_counts_the_cosine(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    model = transfer(own)
    files = write_stage(own, "distil")
    taught = list(read_questions(write_taught(own, "distil", model, files).train))
    scores = anselect.load(model).score_questions(list(read_questions(files.train))).scores
    moved = {"0": 0.0, "1": 0.0}
    for question, known in zip(taught, scores, strict=True):
        for candidate, logit in zip(question.candidates, as_logits(known), strict=True):
            expected = logit + (LABEL_LOGIT if candidate.label else -LABEL_LOGIT)
            source = question.id.split("-")[0]
            moved[source] = max(moved[source], abs(float(candidate.metadata[TEACHER]) - expected))
    assert moved["1"] < 1e-3 < moved["0"]


def test_what_was_taught_is_learnt(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    run = distil(own, transfer(own))
    assert json.loads((run / "metrics.json").read_text())["recipe"] == "bundled-distil"


def test_the_last_lesson_mixes_the_own_logits_with_a_larger_models_source_by_source(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS["adviser"], "frozen_layers", 1)
    own = replace(build(data, tmp_path), adviser=str(data / "bert"), exit_layer=1)
    dev = list(read_questions(write_stage(own, "transfer").dev))
    calibration = Calibration("tiny", dev, dev, PROTOCOLS["answerable"])
    export_engine(load_source(transfer(own)), tmp_path / "engine", calibration=calibration, max_drift=1.0)
    adviser = train_adviser(own)
    run = lesson(own, adviser, tmp_path / "engine")
    assert json.loads((run / "metrics.json").read_text())["recipe"] == "bundled-lesson"
    files = write_stage(own, "lesson")
    lists = list(read_questions(files.train))
    small, large = (anselect.load(model).score_questions(lists).scores for model in (tmp_path / "engine", adviser))
    taught = read_questions(write_taught(own, "lesson", tmp_path / "engine", files, adviser).train)
    shares = {"0": 1.0, "1": 0.5, "2": 0.0}
    seen = set()
    for question, first, second in zip(taught, small, large, strict=True):
        share = shares[question.id.split("-")[0]]
        seen.add(share)
        for candidate, logit in zip(
            question.candidates, (1 - share) * as_logits(first) + share * as_logits(second), strict=True
        ):
            expected = logit + (LABEL_LOGIT if candidate.label else -LABEL_LOGIT)
            assert float(candidate.metadata[TEACHER]) == pytest.approx(expected, abs=1e-3)
    assert seen == {0.0, 0.5, 1.0}


def test_advice_needs_an_adviser(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    with pytest.raises(UsageError, match="larger model"):
        write_taught(own, "lesson", transfer(own), write_stage(own, "lesson"))


def test_advice_is_kept_and_not_asked_for_twice(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = build(data, tmp_path)
    run = transfer(own)
    lists = list(read_questions(write_stage(own, "adapt").train))
    first = advise(run, lists, tmp_path / "advice")
    asked: list[int] = []
    monkeypatch.setattr(CrossEncoderRanker, "score", _counting(CrossEncoderRanker.score, asked))
    assert advise(run, lists, tmp_path / "advice") == first
    assert asked == [0]
    expected = [as_logits(scores).tolist() for scores in anselect.load(run).score_questions(lists).scores]
    assert [pytest.approx(logits, abs=1e-6) for logits in expected] == first


def test_kept_advice_serves_without_the_model(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    run = transfer(own)
    lists = list(read_questions(write_stage(own, "adapt").train))
    kept = tmp_path / "advice.npz"
    assert keep_advice(run, lists[1:], tmp_path / "advice", kept) > 0
    for ours, theirs in zip(advise(kept, lists[1:], tmp_path), advise(run, lists[1:], tmp_path), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3)
    with pytest.raises(DataError, match="no advice is kept for some lists"):
        advise(kept, lists, tmp_path)
    kept.write_bytes(b"no archive")
    with pytest.raises(DataError, match="expected a file of kept advice"):
        advise(kept, lists, tmp_path)


def _counting(score: Callable[..., ScoredQuestions], asked: list[int]) -> Callable[..., ScoredQuestions]:
    def counted(ranker: CrossEncoderRanker, questions: Sequence[Question]) -> ScoredQuestions:
        asked.append(len(questions))
        return score(ranker, questions)

    return counted
