"""The data sets that the bundled model learns from in, its training and dev files out, free of any evaluation text."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal

from anselect.data.files import write_text
from anselect.data.locate import read_split
from anselect.data.overlap import without_overlap
from anselect.data.reading import write_questions
from anselect.records import Question
from anselect.training.bundled.mixture import ListPlan, sample_lists, span_lists


@dataclass(frozen=True, slots=True)
class Source:
    """One split to learn from, and how lists are made of it."""

    data: str
    split: str
    plan: ListPlan
    kind: Literal["spans", "lists"] = "lists"


TRANSFER: Final = (
    Source("squad11-train-part", "train", ListPlan(8000), "spans"),
    Source("squad11-dev", "dev", ListPlan(6000), "spans"),
    Source("squad20-dev", "dev", ListPlan(3000), "spans"),
    Source("squadshifts-new-wiki", "test", ListPlan(5000), "spans"),
    Source("squadshifts-amazon", "test", ListPlan(3000), "spans"),
    Source("quoref-dev", "dev", ListPlan(1500), "spans"),
)
"""Questions with passages: broad, and far from the benchmarks."""
REPLAY: Final = tuple(replace(source, plan=ListPlan(source.plan.questions // 8)) for source in TRANSFER)
"""A share of them again while adapting, so that what was learnt is not forgotten."""
ADAPT: Final = (
    Source("wikiqa", "train", ListPlan(2118, positives=2, negatives=6)),
    Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=9)),
    Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=5)),
    Source("insuranceqa", "train", ListPlan(1200, positives=1, negatives=4)),
)
EVALUATED: Final = (
    ("wikiqa", "dev"),
    ("wikiqa", "test"),
    ("trecqa", "dev"),
    ("trecqa", "test"),
    ("semeval2015", "dev"),
    ("semeval2015", "test"),
    ("semeval2016", "dev"),
    ("semeval2016", "test"),
    ("semeval2017", "test"),
    ("insuranceqa", "dev"),
    ("insuranceqa", "test"),
)
"""No question and no candidate of these is learnt from."""
DEV: Final = (
    Source("wikiqa", "dev", ListPlan(126, positives=30, negatives=60)),
    Source("trecqa", "dev", ListPlan(65, positives=60, negatives=100)),
    Source("semeval2016", "dev", ListPlan(120, positives=10, negatives=10)),
    Source("insuranceqa", "dev", ListPlan(120, positives=1, negatives=14)),
)
"""What an epoch is chosen on; whole lists, but for InsuranceQA's 200 wrong answers a question."""


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The files that one stage trains on and is chosen by."""

    train: Path
    dev: Path


def write_stage(
    folder: Path,
    stage: str,
    *,
    leave_out: str = "",
    seed: int = 0,
    data_dir: Path | None = None,
) -> StageFiles:
    """Write a stage's files once (a finished one is kept), with a count of what the audit took out.

    `leave_out` names a data set, all of whose years and splits neither stage may see.
    """
    files = StageFiles(folder / f"{stage}.jsonl", folder / "dev.jsonl")
    folder.mkdir(parents=True, exist_ok=True)
    if not files.dev.is_file():
        write_questions(_dev_questions(seed, data_dir, leave_out), files.dev)
    if not files.train.is_file():
        sources = TRANSFER if stage == "transfer" else ADAPT + REPLAY
        kept, counts = _audited(_training_lists(sources, seed, data_dir, leave_out), data_dir)
        random.Random(seed).shuffle(kept)
        with write_text(folder / f"{stage}.audit.json") as file:
            json.dump(counts, file, indent=2)
        write_questions(kept, files.train)
    return files


def _training_lists(sources: Sequence[Source], seed: int, data_dir: Path | None, leave_out: str) -> list[Question]:
    lists: list[Question] = []
    for place, source in enumerate(sources):
        if _is_of(source.data, leave_out):
            continue
        chance = random.Random(f"{seed} {source.data} {source.split}")
        questions = read_split(source.data, source.split, data_dir=data_dir, detokenize=source.data == "trecqa")
        make = span_lists if source.kind == "spans" else sample_lists
        lists += [replace(question, id=f"{place}-{question.id}") for question in make(questions, source.plan, chance)]
    return lists


def _dev_questions(seed: int, data_dir: Path | None, leave_out: str) -> list[Question]:
    questions: list[Question] = []
    for source in DEV:
        if _is_of(source.data, leave_out):
            continue
        known = read_split(source.data, source.split, data_dir=data_dir, detokenize=source.data == "trecqa")
        useful = [question for question in known if question.has_positive and question.has_negative]
        chance = random.Random(f"{seed} {source.data} dev")
        drawn = chance.sample(useful, min(source.plan.questions, len(useful)))
        questions += [_shortened(question, source, chance) for question in drawn]
    return questions


def _shortened(question: Question, source: Source, chance: random.Random) -> Question:
    wrong = [candidate for candidate in question.candidates if candidate.label == 0]
    kept = {candidate.id for candidate in chance.sample(wrong, min(source.plan.negatives, len(wrong)))}
    candidates = tuple(item for item in question.candidates if item.label == 1 or item.id in kept)
    return replace(question, id=f"{source.data}-{question.id}", candidates=candidates)


def _audited(lists: list[Question], data_dir: Path | None) -> tuple[list[Question], dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, int]] = {}
    for name, split in EVALUATED:
        held_out = read_split(name, split, data_dir=data_dir, detokenize=name == "trecqa")
        # All splits of InsuranceQA draw their wrong answers from one pool.
        lists, dropped = without_overlap(lists, held_out, only_correct=name == "insuranceqa")
        counts[f"{name} {split}"] = asdict(dropped)
    return lists, counts


def _is_of(data: str, leave_out: str) -> bool:
    return bool(leave_out) and data.rstrip("0123456789") == leave_out.rstrip("0123456789")
