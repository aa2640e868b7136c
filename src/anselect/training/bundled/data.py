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
from anselect.training.bundled.levelling import level_lists
from anselect.training.bundled.mixture import (
    HARD_SHARES,
    ListPlan,
    Shares,
    sample_lists,
    span_lists,
    with_fewer_wrong,
)
from anselect.training.bundled.near_words import NearWords
from anselect.training.bundled.written_lists import GROUPS, read_written


@dataclass(frozen=True, slots=True)
class Source:
    """One split to learn from, and how lists are made of it."""

    data: str
    split: str
    plan: ListPlan
    kind: Literal["spans", "lists"] = "lists"
    shares: Shares | None = None
    """How often made-up sentences join lists made of spans."""
    turn: int = 0
    """Tells sources of the same split apart: each turn draws anew."""
    cosine: float = 0.0
    """How much the untouched encoder's cosine counts in what the teacher says, beside the trained model."""
    advice: float = 0.0
    """How much a larger model's logits count in what the teacher says; the trained model's own are the rest."""
    levelled: bool = False
    """Whether lists are drawn so that neither shared words nor length gives the right candidate away."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Everything that the model learns from and is chosen by."""

    transfer: tuple[Source, ...]
    """Questions with passages: broad, and far from the benchmarks."""
    adapt: tuple[Source, ...]
    """The benchmarks' training parts, and passages whose shared words mislead."""
    distil: tuple[Source, ...]
    """What a teacher's scores are learnt on: all of the above drawn anew, and search questions without labels."""
    adviser: tuple[Source, ...]
    """What a larger model learns: the benchmarks of sentences, passages, and lists written for this training."""
    lesson: tuple[Source, ...]
    """What the larger model's advice is learnt on, and all of the above once more, so that nothing is forgotten."""
    dev: tuple[Source, ...]
    """What an epoch is chosen on; whole lists, but for InsuranceQA's 200 wrong answers a question."""
    evaluated: tuple[tuple[str, str], ...]
    """Splits of which no question and no candidate is learnt."""
    replayed: int = 12
    """One of so many transfer questions comes again while adapting, so that what was learnt is not forgotten."""

    def stage(self, name: str) -> tuple[Source, ...]:
        """Return the sources of the stage `transfer`, `adapt`, `distil`, `adviser` or `lesson`."""
        if name != "adapt":
            stages = {"transfer": self.transfer, "distil": self.distil, "adviser": self.adviser, "lesson": self.lesson}
            return stages[name]
        again = (
            replace(source, plan=replace(source.plan, questions=source.plan.questions // self.replayed))
            for source in self.transfer
        )
        return (*self.adapt, *again)

    def source_of(self, stage: str, question: Question) -> Source:
        """Return the source that a list of a stage was made of: its id begins with the source's place."""
        return self.stage(stage)[int(question.id.split("-", 1)[0])]


WRITTEN: Final = ("plain", "more", "encyclopedia", "news", "forum")
"""Lists written for this training, which come with the package: two files of any kind, three in a source's style."""
MIXTURE: Final = Mixture(
    transfer=(
        Source("squad11-train-part", "train", ListPlan(6000), "spans"),
        Source("squad11-dev", "dev", ListPlan(5000), "spans"),
        Source("squad20-dev", "dev", ListPlan(2500), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(3500), "spans"),
        Source("squadshifts-amazon", "test", ListPlan(2000), "spans"),
        Source("quoref-dev", "dev", ListPlan(1200), "spans"),
    ),
    adapt=(
        Source("wikiqa", "train", ListPlan(1300, positives=2, negatives=6)),
        Source("wikiqa", "train", ListPlan(873, positives=2, negatives=6, answerable=True), turn=1),
        Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=8)),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=5)),
        Source("insuranceqa", "train", ListPlan(800, positives=1, negatives=4)),
        Source("squad11-train-part", "train", ListPlan(1200, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squad11-dev", "dev", ListPlan(1000, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squadshifts-new-wiki", "test", ListPlan(800, negatives=5), "spans", HARD_SHARES, turn=1),
    ),
    # How much the cosine counts was chosen set by set on dev (docs/LOG.md); lists in which it misleads have none of it.
    distil=(
        Source("wikiqa", "train", ListPlan(700, positives=2, negatives=6), cosine=0.25),
        Source("wikiqa", "train", ListPlan(873, positives=2, negatives=6, answerable=True), turn=1, cosine=0.25),
        Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=7), cosine=1.0),
        Source("semeval2016", "train-part2", ListPlan(379, positives=4, negatives=4), cosine=1.0),
        Source("insuranceqa", "train", ListPlan(1000, positives=1, negatives=5), cosine=1.0),
        Source("boolq", "all", ListPlan(800, negatives=5), cosine=0.5),
        Source("squad11-train-part", "train", ListPlan(500, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squad11-dev", "dev", ListPlan(500, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squadshifts-new-wiki", "test", ListPlan(500, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squad11-train-part", "train", ListPlan(300), "spans", cosine=0.25),
        Source("squad20-dev", "dev", ListPlan(200), "spans", cosine=0.25),
        Source("squadshifts-new-wiki", "test", ListPlan(300), "spans", cosine=0.25),
        Source("squadshifts-amazon", "test", ListPlan(200), "spans"),
        Source("quoref-dev", "dev", ListPlan(200), "spans"),
    ),
    adviser=(
        *(Source(name, "written", ListPlan(10_000, positives=2, negatives=4), levelled=True) for name in WRITTEN),
        Source("ordinary", "written", ListPlan(400, negatives=4)),
        Source(GROUPS, "written", ListPlan(1000, negatives=4)),
        Source("wikiqa", "train", ListPlan(873, positives=2, negatives=5, answerable=True)),
        Source("wikiqa", "train", ListPlan(300, positives=2, negatives=4), turn=1),
        Source("trecqa", "train-all", ListPlan(1229, positives=2, negatives=4)),
        Source("squad11-train-part", "train", ListPlan(400), "spans"),
        Source("squad11-dev", "dev", ListPlan(200), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(300), "spans"),
    ),
    # How much advice and cosine count was chosen set by set on dev (docs/LOG.md).
    lesson=(
        *(
            Source(name, "written", ListPlan(10_000, positives=2, negatives=4), advice=1.0, levelled=True)
            for name in WRITTEN
        ),
        Source("ordinary", "written", ListPlan(400, negatives=4), advice=1.0),
        Source(GROUPS, "written", ListPlan(900, negatives=4), advice=1.0),
        Source(GROUPS, "written", ListPlan(1000, negatives=4), turn=1, advice=1.0),
        Source("wikiqa", "train", ListPlan(300, positives=2, negatives=5), advice=0.5, cosine=0.25),
        Source(
            "wikiqa", "train", ListPlan(873, positives=2, negatives=5, answerable=True), turn=1, advice=0.5, cosine=0.25
        ),
        Source("trecqa", "train-all", ListPlan(1229, positives=2, negatives=5), advice=0.35, cosine=0.75),
        Source("trecqa", "train-all", ListPlan(800, positives=3, negatives=10), turn=1, cosine=1.0),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=3), cosine=1.0),
        Source("insuranceqa", "train", ListPlan(300, positives=1, negatives=3), cosine=1.0),
        Source("squad11-train-part", "train", ListPlan(200), "spans"),
        Source("squad20-dev", "dev", ListPlan(100), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(200), "spans"),
        Source("squad11-dev", "dev", ListPlan(300), "spans"),
        Source("squadshifts-amazon", "test", ListPlan(150), "spans"),
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
    adviser: str = "sentence-transformers/all-mpnet-base-v2"
    """The larger model's encoder."""
    max_tokens: int = 128
    exit_layer: int = 3
    """Behind this layer a first guess is learnt in the last lesson."""
    question_layers: int = 0
    """In so many layers questions learn to be read without their candidates, in the last lesson."""
    seed: int = 0
    leave_out: tuple[str, ...] = ()
    """Data sets, none of whose years and splits the model may see: what it gets there is what users get."""
    thinned: int = 1
    """One of so many questions of each source is enough."""
    data_dir: Path | None = None

    def read(self, name: str, split: str, *, detokenize: bool = True) -> list[Question]:
        """Read a split as users write: TrecQA's Penn tokens become text."""
        if split == "written":
            return read_written(name)
        return read_split(name, split, data_dir=self.data_dir, detokenize=detokenize and name == "trecqa")

    def read_both_ways(self, name: str, split: str) -> list[Question]:
        """Read a split to learn from: every other question of TrecQA keeps its tokens, for users have such files."""
        questions = self.read(name, split)
        if name == "trecqa":
            questions[::2] = self.read(name, split, detokenize=False)[::2]
        return questions

    def is_left_out(self, source: Source) -> bool:
        """Say whether a source belongs to a set that is left out; `semeval` stands for all its years."""
        return source.data.rstrip("0123456789") in self.leave_out


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The files that one stage trains on and is chosen by."""

    train: Path
    dev: Path


def write_stage(build: Build, stage: str) -> StageFiles:
    """Write a stage's files once (a finished one is kept), with a count of what the audit took out."""
    files = StageFiles(build.folder / f"{stage}.jsonl", write_dev(build))
    if not files.train.is_file():
        kept, counts = _audited(_training_lists(build, stage), build)
        random.Random(build.seed).shuffle(kept)
        with write_text(build.folder / f"{stage}.audit.json") as file:
            json.dump(counts, file, indent=2)
        write_questions(kept, files.train)
    return files


def write_dev(build: Build) -> Path:
    """Write the dev questions of all sets into one file, once; an id begins with its set's name."""
    path = build.folder / "dev.jsonl"
    build.folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_questions(_dev_questions(build), path)
    return path


def _training_lists(build: Build, stage: str) -> list[Question]:
    lists: list[Question] = []
    sources = build.mixture.stage(stage)
    wants_near = any(source.shares is not None and source.shares.other_words for source in sources)
    near = NearWords.from_encoder(build.encoder) if wants_near else None
    for place, source in enumerate(sources):
        if build.is_left_out(source):
            continue
        turn = f" {source.turn}" if source.turn else ""
        chance = random.Random(f"{build.seed} {stage} {source.data} {source.split}{turn}")
        questions = build.read_both_ways(source.data, source.split)
        if source.levelled:
            questions = level_lists(questions, chance)
        plan = replace(source.plan, questions=source.plan.questions // build.thinned)
        if source.kind == "spans":
            drawn = span_lists(questions, plan, chance, source.shares, near)
        else:
            drawn = sample_lists(questions, plan, chance)
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
        for question in drawn:
            shorter = with_fewer_wrong(question, source.plan.negatives, chance)
            questions.append(replace(shorter, id=f"{source.data}-{question.id}"))
    return questions


def _audited(lists: list[Question], build: Build) -> tuple[list[Question], dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, int]] = {}
    for name, split in build.mixture.evaluated:
        # All splits of InsuranceQA draw their wrong answers from one pool.
        held_out = build.read(name, split) + (build.read(name, split, detokenize=False) if name == "trecqa" else [])
        lists, dropped = without_overlap(lists, held_out, only_correct=name == "insuranceqa")
        counts[f"{name} {split}"] = asdict(dropped)
    return lists, counts
