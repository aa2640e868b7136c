"""The data sets that the bundled model learns from in, its training and dev files out, free of any evaluation text."""

from __future__ import annotations

import json
import random
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


@dataclass(frozen=True, slots=True)
class Mixture:
    """Everything that the model learns from and is chosen by."""

    transfer: tuple[Source, ...]
    """Questions with passages: broad, and far from the benchmarks."""
    adapt: tuple[Source, ...]
    """The benchmarks' training parts."""
    dev: tuple[Source, ...]
    """What an epoch is chosen on; whole lists, but for InsuranceQA's 200 wrong answers a question."""
    evaluated: tuple[tuple[str, str], ...]
    """Splits of which no question and no candidate is learnt."""
    replayed: int = 8
    """One of so many transfer questions comes again while adapting, so that what was learnt is not forgotten."""

    def stage(self, name: str) -> tuple[Source, ...]:
        """Return the sources of the stage `transfer` or `adapt`."""
        if name == "transfer":
            return self.transfer
        again = (
            replace(source, plan=replace(source.plan, questions=source.plan.questions // self.replayed))
            for source in self.transfer
        )
        return (*self.adapt, *again)


MIXTURE: Final = Mixture(
    transfer=(
        Source("squad11-train-part", "train", ListPlan(8000), "spans"),
        Source("squad11-dev", "dev", ListPlan(6000), "spans"),
        Source("squad20-dev", "dev", ListPlan(3000), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(5000), "spans"),
        Source("squadshifts-amazon", "test", ListPlan(3000), "spans"),
        Source("quoref-dev", "dev", ListPlan(1500), "spans"),
    ),
    adapt=(
        Source("wikiqa", "train", ListPlan(2118, positives=2, negatives=6)),
        Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=9)),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=5)),
        Source("insuranceqa", "train", ListPlan(1200, positives=1, negatives=4)),
    ),
    dev=(
        Source("wikiqa", "dev", ListPlan(126, negatives=60)),
        Source("trecqa", "dev", ListPlan(65, negatives=100)),
        Source("semeval2016", "dev", ListPlan(120, negatives=10)),
        Source("insuranceqa", "dev", ListPlan(120, negatives=14)),
    ),
    evaluated=(
        *((name, split) for name in ("wikiqa", "trecqa", "semeval2015", "semeval2016") for split in ("dev", "test")),
        ("semeval2017", "test"),
        ("insuranceqa", "dev"),
        ("insuranceqa", "test"),
    ),
)


@dataclass(frozen=True, slots=True)
class Build:
    """One building of the model."""

    folder: Path
    mixture: Mixture = MIXTURE
    encoder: str = "sentence-transformers/all-MiniLM-L6-v2"
    max_tokens: int = 128
    seed: int = 0
    leave_out: str = ""
    """A data set, all of whose years and splits the model must not see: what it gets there is what users get."""
    data_dir: Path | None = None

    def read(self, name: str, split: str) -> list[Question]:
        """Read a split as users write: TrecQA's Penn tokens become text."""
        return read_split(name, split, data_dir=self.data_dir, detokenize=name == "trecqa")

    def is_left_out(self, source: Source) -> bool:
        """Say whether a source belongs to the set that is left out; `semeval` stands for all its years."""
        return bool(self.leave_out) and source.data.rstrip("0123456789") == self.leave_out.rstrip("0123456789")


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The files that one stage trains on and is chosen by."""

    train: Path
    dev: Path


def write_stage(build: Build, stage: str) -> StageFiles:
    """Write a stage's files once (a finished one is kept), with a count of what the audit took out."""
    files = StageFiles(build.folder / f"{stage}.jsonl", build.folder / "dev.jsonl")
    build.folder.mkdir(parents=True, exist_ok=True)
    if not files.dev.is_file():
        write_questions(_dev_questions(build), files.dev)
    if not files.train.is_file():
        kept, counts = _audited(_training_lists(build, stage), build)
        random.Random(build.seed).shuffle(kept)
        with write_text(build.folder / f"{stage}.audit.json") as file:
            json.dump(counts, file, indent=2)
        write_questions(kept, files.train)
    return files


def _training_lists(build: Build, stage: str) -> list[Question]:
    lists: list[Question] = []
    for place, source in enumerate(build.mixture.stage(stage)):
        if build.is_left_out(source):
            continue
        chance = random.Random(f"{build.seed} {stage} {source.data} {source.split}")
        make = span_lists if source.kind == "spans" else sample_lists
        drawn = make(build.read(source.data, source.split), source.plan, chance)
        lists += [replace(question, id=f"{place}-{question.id}") for question in drawn]
    return lists


def _dev_questions(build: Build) -> list[Question]:
    questions: list[Question] = []
    for source in build.mixture.dev:
        if build.is_left_out(source):
            continue
        known = build.read(source.data, source.split)
        useful = [question for question in known if question.has_positive and question.has_negative]
        chance = random.Random(f"{build.seed} dev {source.data}")
        drawn = chance.sample(useful, min(source.plan.questions, len(useful)))
        questions += [_shortened(question, source, chance) for question in drawn]
    return questions


def _shortened(question: Question, source: Source, chance: random.Random) -> Question:
    """Keep every right candidate and so many wrong ones."""
    wrong = [candidate for candidate in question.candidates if candidate.label == 0]
    kept = {candidate.id for candidate in chance.sample(wrong, min(source.plan.negatives, len(wrong)))}
    candidates = tuple(item for item in question.candidates if item.label == 1 or item.id in kept)
    return replace(question, id=f"{source.data}-{question.id}", candidates=candidates)


def _audited(lists: list[Question], build: Build) -> tuple[list[Question], dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, int]] = {}
    for name, split in build.mixture.evaluated:
        # All splits of InsuranceQA draw their wrong answers from one pool.
        lists, dropped = without_overlap(lists, build.read(name, split), only_correct=name == "insuranceqa")
        counts[f"{name} {split}"] = asdict(dropped)
    return lists, counts
