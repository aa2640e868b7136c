"""All stages on a tiny encoder and small files: nothing evaluated is learnt, a set can be left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import anselect
from anselect.data.reading import read_questions
from anselect.records import Candidate, Question
from anselect.training.bundled.data import Build, Mixture, Source, write_stage
from anselect.training.bundled.mixture import ListPlan
from anselect.training.bundled.stages import adapt, transfer
from anselect.training.bundled.teacher import COSINE_SPREAD, LABEL_LOGIT, UNLABELLED_LOGIT, taught_list, write_taught
from anselect.training.rows import TEACHER
from tests.training.tiny import save_tiny_bert

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
MIXTURE = Mixture(
    transfer=(Source("squad11-dev", "dev", ListPlan(8), "spans"),),
    adapt=(
        Source("wikiqa", "train", ListPlan(8), cosine=0.5),
        Source("squad11-dev", "dev", ListPlan(4), "spans"),
        Source("squad11-dev", "dev", ListPlan(2, negatives=3), "passages", turn=1, cosine=1.0),
    ),
    dev=(Source("wikiqa", "dev", ListPlan(3, negatives=2)),),
    evaluated=(("wikiqa", "dev"), ("wikiqa", "test")),
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


def build(data: Path, folder: Path, *, leave_out: str = "") -> Build:
    return Build(folder, MIXTURE, str(data / "bert"), leave_out=leave_out, data_dir=data, max_tokens=32, exit_layer=1)


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
    mixture_files = write_stage(build(data, tmp_path, leave_out="wikiqa"), "adapt")
    assert not any("clock" in question.text for question in read_questions(mixture_files.train))
    assert mixture_files.dev.read_text() == ""


def test_both_stages_train_a_model_that_ranks(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    adapted = adapt(own, transfer(own))
    assert json.loads((adapted / "metrics.json").read_text())["recipe"] == "bundled-adapt"
    assert (tmp_path / "transfer" / "metrics.json").is_file()
    ranking = anselect.load(adapted).rank("who made the lamp", ["the lamp is old", "bell made the lamp"])
    assert len(ranking) == 2


def test_the_teacher_is_the_labels_and_where_it_counts_the_cosine(data: Path, tmp_path: Path) -> None:
    own = build(data, tmp_path)
    taught = list(read_questions(write_taught(own, "adapt", write_stage(own, "adapt")).train))
    moved = {"0": 0.0, "1": 0.0}
    passages = 0
    for question in taught:
        source = question.id.split("-")[0]
        logits = [float(candidate.metadata[TEACHER]) for candidate in question.candidates]
        if source == "2":
            passages += 1
            assert sum(logits) / len(logits) == pytest.approx(UNLABELLED_LOGIT, abs=1e-3)
            assert all("made by Bell" in candidate.text for candidate in question.candidates)
            continue
        for candidate, logit in zip(question.candidates, logits, strict=True):
            expected = LABEL_LOGIT if candidate.label else -LABEL_LOGIT
            moved[source] = max(moved[source], abs(logit - expected))
    assert passages == 2
    assert moved["1"] < 1e-3 < moved["0"]


def test_cosines_move_logits_by_their_share_and_what_nobody_judged_counts_as_wrong() -> None:
    candidates = (Candidate("0", "a", 1), Candidate("1", "b", 0), Candidate("2", "c", None))
    taught = taught_list(Question("0-q", "q", candidates), [0.2, 0.2, 0.2], 1.0)
    logits = [float(each.metadata[TEACHER]) for each in taught.candidates]
    assert logits == [LABEL_LOGIT, -LABEL_LOGIT, UNLABELLED_LOGIT]
    assert [each.label for each in taught.candidates] == [1, 0, 0]
    pair = taught_list(Question("0-q", "q", candidates[:2]), [0.1, 0.9], 0.5)
    logits = [float(each.metadata[TEACHER]) for each in pair.candidates]
    assert logits == [LABEL_LOGIT - COSINE_SPREAD / 2, -LABEL_LOGIT + COSINE_SPREAD / 2]
