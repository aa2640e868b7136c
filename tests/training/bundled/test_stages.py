"""All stages on a tiny encoder and small files: nothing evaluated is learnt, a set can be left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import anselect
from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import read_questions
from anselect.engine.ranker import load_engine
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.records import Question, ScoredQuestions
from anselect.training.bundled import leave_out
from anselect.training.bundled.advice import advise
from anselect.training.bundled.data import Build, write_stage
from anselect.training.bundled.logits import as_logits
from anselect.training.bundled.mean_model import mean_model
from anselect.training.bundled.measure import NamedSet
from anselect.training.bundled.mixture import ListPlan
from anselect.training.bundled.sources import TREC_QUESTIONS, Mixture, Source
from anselect.training.bundled.stages import (
    SETTINGS,
    lesson,
    practise,
    revise,
    take_refresher,
    train_adviser,
    untouched,
)
from anselect.training.bundled.teacher import LABEL_LOGIT, LONE_LABEL_LOGIT, write_taught
from anselect.training.engine_export import Calibration, export_engine
from anselect.training.engine_export_source import load_source
from anselect.training.engine_import import load_start
from anselect.training.rows import TEACHER
from tests.training.tiny import save_tiny_bert

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
MIXTURE = Mixture(
    adviser=(
        Source("forum", "written", ListPlan(6, positives=2), levelled=True),
        Source("wikiqa", "train", ListPlan(8)),
    ),
    lesson=(
        Source("forum", "written", ListPlan(6, positives=2), advice=True, levelled=True),
        Source("wikiqa", "train", ListPlan(8), advice=True, cosine=0.5),
        Source("squad11-dev", "dev", ListPlan(4), "spans"),
        Source("squad11-dev", "dev", ListPlan(4, negatives=2), "passages"),
    ),
    practice=(
        Source("wikiqa", "train", ListPlan(8, negatives=2), "near", advice=True),
        Source("squad11-dev", "dev", ListPlan(4), "spans", turn=1, advice=True),
    ),
    refresher=(
        Source(TREC_QUESTIONS, "train", ListPlan(4, negatives=2), "near", pool="newswire", advice=True, cosine=0.5),
        Source("wikiqa", "train", ListPlan(8), advice=True),
        Source("forum", "written", ListPlan(24), advice=True),
    ),
    dev=(Source("wikiqa", "dev", ListPlan(3, negatives=2)), Source("squad11-dev", "dev", ListPlan(3), "spans")),
    evaluated=(("wikiqa", "dev"), ("wikiqa", "test")),
)
TITLES = ("Books", "Clocks", "Lamps", "Ships")


def write_wikiqa(path: Path, numbers: Sequence[int]) -> None:
    rows = [HEADER]
    for number in numbers:
        right = f"bell made the red clock and the old lamp {number}"
        for place, (text, label) in enumerate([(right, 1), (f"the ship {number} is old", 0), ("rome", 0)]):
            rows.append(f"Q{number}\twho made the clock {number}\tD\tBooks\tD-{place}\t{text}\t{label}")
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
            "title": TITLES[number % len(TITLES)],
        }
        for number in range(16)
    ]
    (root / "trec-qc").mkdir()
    asked = "".join(f"{number}\tWho made the clock {number} ?\tHUM\tHUM:ind\n" for number in (6, 7, 11, 21))
    (root / "trec-qc" / "train.tsv").write_text("question_id\tquestion\tcoarse\tfine\n" + asked)
    (root / "trecqa").mkdir()
    newswire = "".join(f"1\tWho rang ?\t{n}\tThe lamp {n} was n't made by Bell .\t{int(n == 1)}\n" for n in range(9))
    (root / "trecqa" / "train-all.tsv").write_text("question_id\tquestion\tanswer_id\tanswer\tlabel\n" + newswire)
    lines = "".join(json.dumps(passage) + "\n" for passage in passages)
    (root / "transfer" / "squad11_dev.jsonl.gz").write_text(lines)  # read by content: plain text will do
    save_tiny_bert(root / "bert")
    return root


def build(data: Path, folder: Path, *, leave_out: tuple[str, ...] = ()) -> Build:
    bert = str(data / "bert")
    return Build(folder, MIXTURE, bert, adviser=bert, exit_layer=1, leave_out=leave_out, data_dir=data, max_tokens=32)


@pytest.fixture(autouse=True)
def tiny_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS["adviser"], "frozen_layers", 1)


def test_what_is_evaluated_is_not_learnt_and_counted(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path), "adviser")
    asked = {question.text.lower().rstrip("?") for question in read_questions(files.train)}
    assert not any("clock 21" in text for text in asked)
    assert {text for text in asked if "clock" in text} >= {"who made the clock 1", "who made the clock 5"}
    counts = json.loads((tmp_path / "adviser.audit.json").read_text())
    assert counts["wikiqa test"]["equal_questions"] == 1


def test_files_are_the_same_each_time_and_kept_once_written(data: Path, tmp_path: Path) -> None:
    first, again = (write_stage(build(data, tmp_path / name), "lesson") for name in ("a", "b"))
    assert first.train.read_bytes() == again.train.read_bytes()
    first.train.write_text("kept")
    assert write_stage(build(data, tmp_path / "a"), "lesson").train.read_text() == "kept"


def test_set_that_is_left_out_is_neither_learnt_nor_chosen_by(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path, leave_out=("wikiqa", "semeval")), "lesson")
    assert not any("clock" in question.text for question in read_questions(files.train))
    assert all(question.id.startswith("squad11-dev-") for question in read_questions(files.dev))


def test_models_that_never_saw_a_set_are_measured_there_and_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = build(data, tmp_path)
    unseen = NamedSet("wikiqa", [question for question in own.read("wikiqa", "test") if question.has_positive])
    monkeypatch.setattr(leave_out, "held_out_sets", lambda _: [unseen, NamedSet("trecqa", unseen.questions)])
    monkeypatch.setattr(leave_out, "THINNED", 1)
    table = leave_out.leave_each_out(own, [("wikiqa",)])
    assert list(table) == list(table["wikiqa"]) == ["wikiqa"]
    row = table["wikiqa"]["wikiqa"]
    assert row["questions"] == 2
    assert all(0 < row[name] <= 1 for name in ("model", "bm25", "cosine"))
    folder = tmp_path / "without-wikiqa"
    taught = list(read_questions(folder / "lesson.taught.jsonl"))
    assert taught
    assert not any("clock" in question.text for question in taught)
    model = load_ranker(model_folder(folder / "gentle")).model
    assert model.config.sides_apart == leave_out.SIDES_APART
    tried = json.loads((folder / "learnt" / "mean.json").read_text())["tried"]
    assert [each["start_share"] for each in tried] == list(leave_out.START_SHARES)
    assert all(list(each["dev"]) == ["squad11-dev"] for each in tried)
    assert leave_out.leave_each_out(own, [("wikiqa",)]) == table


def test_long_candidates_are_taught_by_the_cosine_where_sets_are_left_out() -> None:
    changed = [leave_out.with_more_cosine(source) for source in MIXTURE.lesson]
    assert [source.cosine for source in changed] == [0.0, 0.5, 0.0, 1.0]  # the last are whole passages
    assert [source.plan.questions for source in changed] == [6, 8, 4, 16]
    forum = Source("semeval2016", "train-part2", ListPlan(4), cosine=0.5)
    assert leave_out.with_more_cosine(forum).cosine == 1.0


def test_documents_that_are_measured_on_are_not_learnt(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path), "lesson")
    learnt = {title for question in read_questions(files.train) if (title := question.metadata.get("document_title"))}
    measured = {
        question.metadata["document_title"]
        for question in read_questions(files.dev)
        if question.id.startswith("squad11-dev-")
    }
    assert learnt
    assert measured
    assert not learnt & measured


def test_the_teacher_is_the_larger_model_with_labels_and_where_it_counts_the_cosine(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anselect.modeling.precision.fast_precision", lambda: "fp32")
    own = build(data, tmp_path)
    adviser = train_adviser(own)
    files = write_stage(own, "lesson")
    taught = list(read_questions(write_taught(own, "lesson", files, adviser).train))
    scores = anselect.load(adviser).score_questions(list(read_questions(files.train))).scores
    moved = dict.fromkeys("0123", 0.0)
    for question, known in zip(taught, scores, strict=True):
        source = question.id.split("-")[0]
        for candidate, logit in zip(question.candidates, as_logits(known), strict=True):
            weight = LABEL_LOGIT if source in "01" else LONE_LABEL_LOGIT
            expected = (logit if source in "01" else 0.0) + (weight if candidate.label else -weight)
            moved[source] = max(moved[source], abs(float(candidate.metadata[TEACHER]) - expected))
    assert moved["0"] < 1e-3 < moved["1"]
    assert moved["2"] == moved["3"] == 0.0


def test_all_stages_train_a_model_that_ranks(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    adviser = train_adviser(own)
    first = lesson(own, adviser)
    run = revise(own, first, adviser)
    assert [json.loads((each / "metrics.json").read_text())["seed"] for each in (first, run)] == [0, 1]
    weights, revised = (load_ranker(model_folder(each)).model.state_dict() for each in (first, run))
    frozen = "encoder.embeddings.word_embeddings.weight"
    assert torch.equal(weights[frozen], revised[frozen])
    assert any(not torch.equal(weights[name], revised[name]) for name in weights)
    practice = practise(own, run, adviser)
    rehearsal = practise(own, practice, adviser, "rehearsal")
    records = [json.loads((each / "metrics.json").read_text()) for each in (practice, rehearsal)]
    assert [(each["recipe"], each["seed"]) for each in records] == [("bundled-practice", 1), ("bundled-rehearsal", 2)]
    ranking = anselect.load(rehearsal).rank("who made the lamp", ["the lamp is old", "bell made the lamp"])
    assert len(ranking) == 2


def test_near_sentences_come_from_all_that_is_learnt_and_from_no_held_out_document(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path), "practice")
    near = [question for question in read_questions(files.train) if question.id.startswith("0-")]
    held_out = {each.text for question in read_questions(files.dev) for each in question.candidates}
    texts = {each.text for question in near for each in question.candidates if each.label is None}
    assert near
    assert texts
    assert not texts & held_out


def test_questions_of_trec_are_asked_of_newswire_and_none_that_is_measured(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path), "refresher")
    lists = [question for question in read_questions(files.train) if question.id.startswith("0-")]
    # Question 11 is one of dev, 21 one of test.
    assert {question.text.lower().rstrip("?").split()[-1] for question in lists} <= {"6", "7"}
    texts = {each.text for question in lists for each in question.candidates}
    assert texts
    assert all("lamp" in text and "Bell" in text for text in texts)


def test_newswire_that_is_left_out_is_no_pool_either(data: Path, tmp_path: Path) -> None:
    files = write_stage(build(data, tmp_path, leave_out=("trecqa",)), "refresher")
    assert not any(
        "made by Bell" in each.text for question in read_questions(files.train) for each in question.candidates
    )


def test_the_finished_model_teaches_itself(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.modeling.precision.fast_precision", lambda: "fp32")
    own = build(data, tmp_path)
    start, engine = lesson(own, None), tmp_path / "engine"
    lists = list(read_questions(write_stage(own, "lesson").train))
    calibration = Calibration("tiny", lists, lists, PROTOCOLS["answerable"])
    export_engine(load_source(start), engine, calibration=calibration, max_drift=1.0)
    run = take_refresher(own, engine)
    taught = list(read_questions(tmp_path / "refresher.taught.jsonl"))
    labelled = [question for question in taught if question.id.startswith("1-")]
    said = load_engine(engine).logits([(each.text, one.text) for each in labelled for one in each.candidates])
    known = iter(said.tolist())
    for question in labelled:
        for candidate in question.candidates:
            expected = next(known) + (LABEL_LOGIT if candidate.label else -LABEL_LOGIT)
            assert float(candidate.metadata[TEACHER]) == pytest.approx(expected, abs=1e-3)
    before, after = (load_start(str(each)).model.state_dict() for each in (engine, run))
    frozen = "encoder.embeddings.word_embeddings.weight"
    torch.testing.assert_close(before[frozen], after[frozen])
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_a_data_set_may_have_a_teacher_of_its_own(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.modeling.precision.fast_precision", lambda: "fp32")
    plain = build(data, tmp_path)
    adviser, teacher = train_adviser(plain), lesson(plain, None)
    own = replace(plain, teachers={"wikiqa": teacher})
    files = write_stage(own, "refresher")
    taught = list(read_questions(write_taught(own, "refresher", files, adviser).train))
    for source, model in (("1", teacher), ("2", adviser)):
        lists = [question for question in read_questions(files.train) if question.id.startswith(f"{source}-")]
        said = as_logits([score for scores in load_start(str(model)).score(lists).scores for score in scores])
        labels = [2 * (each.label or 0) - 1 for question in lists for each in question.candidates]
        found = [
            float(each.metadata[TEACHER])
            for question in taught
            if question.id.startswith(f"{source}-")
            for each in question.candidates
        ]
        assert found == pytest.approx((said + LABEL_LOGIT * np.array(labels)).tolist(), abs=1e-3)


def test_without_a_larger_model_labels_teach(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    taught = read_questions(write_taught(own, "lesson", write_stage(own, "lesson"), None).train)
    forum = [question for question in taught if question.id.startswith("0-")]
    logits = {float(each.metadata[TEACHER]) for question in forum for each in question.candidates}
    assert logits == {LONE_LABEL_LOGIT, -LONE_LABEL_LOGIT}


def test_the_lesson_begins_at_the_cosine_and_has_a_mean_with_its_start(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    run = lesson(own, None)
    start = untouched(own)
    mean = mean_model({run: 0.75, start: 0.25}).model.state_dict()
    first, last = (load_ranker(model_folder(folder)).model.state_dict() for folder in (start, run))
    assert any(not torch.equal(first[name], last[name]) for name in first)
    for name, weights in mean.items():
        torch.testing.assert_close(weights, 0.25 * first[name] + 0.75 * last[name])


def test_the_larger_model_begins_as_its_own_untouched_encoder(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    first = load_ranker(model_folder(untouched(own, "adviser"))).model
    other = load_ranker(model_folder(untouched(own))).model
    assert first.config.exit_layer == 0  # nobody leaves the larger model early
    assert other.config.exit_layer == 1
    assert untouched(own, "adviser") != untouched(own)


def test_advice_is_kept_and_not_asked_for_twice(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.modeling.precision.fast_precision", lambda: "fp32")
    own = build(data, tmp_path)
    run = train_adviser(own)
    lists = list(read_questions(write_stage(own, "adviser").train))
    first = advise(run, lists, tmp_path / "advice")
    asked: list[int] = []
    monkeypatch.setattr(CrossEncoderRanker, "score", _counting(CrossEncoderRanker.score, asked))
    assert advise(run, lists, tmp_path / "advice") == first
    assert asked == [0]
    expected = [as_logits(scores).tolist() for scores in anselect.load(run).score_questions(lists).scores]
    assert [pytest.approx(logits, abs=1e-6) for logits in expected] == first


def _counting(score: Callable[..., ScoredQuestions], asked: list[int]) -> Callable[..., ScoredQuestions]:
    def counted(ranker: CrossEncoderRanker, questions: Sequence[Question]) -> ScoredQuestions:
        asked.append(len(questions))
        return score(ranker, questions)

    return counted
