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
from anselect.training.bundled.passages import is_held_out, passage_lists
from anselect.training.bundled.written_lists import GROUPS, read_written


@dataclass(frozen=True, slots=True)
class Source:
    """One split to learn from, and how lists are made of it."""

    data: str
    split: str
    plan: ListPlan
    kind: Literal["spans", "passages", "lists"] = "lists"
    """Of the sentences of a passage, of whole passages, or of the candidates as they are."""
    shares: Shares | None = None
    """How often made-up sentences join lists made of spans."""
    turn: int = 0
    """Tells sources of the same split apart: each turn draws anew."""
    advice: bool = False
    """Whether the larger model is asked what it thinks of each candidate; else the labels alone teach."""
    cosine: float = 0.0
    """How much the untouched encoder's cosine counts beside that."""
    levelled: bool = False
    """Whether lists are drawn so that neither shared words nor length gives the right candidate away."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Everything that the model learns from and is chosen by."""

    adviser: tuple[Source, ...]
    """What the larger model learns."""
    lesson: tuple[Source, ...]
    """What the model that ships learns, from the larger model's advice, the encoder's own cosine and the labels."""
    dev: tuple[Source, ...]
    """What an epoch is chosen on; whole lists, but for InsuranceQA's 200 wrong answers a question. Of passages only
    those of documents that nothing is learnt from."""
    evaluated: tuple[tuple[str, str], ...]
    """Splits of which no question and no candidate is learnt."""

    def stage(self, name: str) -> tuple[Source, ...]:
        """Return the sources of the stage `adviser` or `lesson`."""
        return {"adviser": self.adviser, "lesson": self.lesson}[name]

    def source_of(self, stage: str, question: Question) -> Source:
        """Return the source that a list of a stage was made of: its id begins with the source's place."""
        return self.stage(stage)[int(question.id.split("-", 1)[0])]


WRITTEN: Final = ("plain", "more", "encyclopedia", "news", "forum")
"""Lists written for this training, which come with the package: two files of any kind, three in a source's style."""
MIXTURE: Final = Mixture(
    adviser=(
        *(Source(name, "written", ListPlan(10_000, positives=2, negatives=4), levelled=True) for name in WRITTEN),
        Source("ordinary", "written", ListPlan(500, negatives=4)),
        Source(GROUPS, "written", ListPlan(2000, negatives=4)),
        Source("wikiqa", "train", ListPlan(873, positives=3, negatives=9, answerable=True)),
        Source("wikiqa", "train", ListPlan(400, positives=2, negatives=4), turn=1),
        Source("trecqa", "train-all", ListPlan(1229, positives=4, negatives=14)),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=3)),
        Source("insuranceqa", "train", ListPlan(400, negatives=3)),
        Source("squad11-train-part", "train", ListPlan(900), "spans"),
        Source("squad11-dev", "dev", ListPlan(700), "spans"),
        Source("squad20-dev", "dev", ListPlan(300), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(800), "spans"),
        Source("squadshifts-amazon", "test", ListPlan(300), "spans"),
        Source("quoref-dev", "dev", ListPlan(250), "spans"),
        Source("squad11-train-part", "train", ListPlan(400, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squadshifts-new-wiki", "test", ListPlan(400, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squad11-train-part", "train", ListPlan(200, negatives=3), "passages"),
        Source("squadshifts-new-wiki", "test", ListPlan(200, negatives=3), "passages"),
        Source("boolq", "all", ListPlan(250, negatives=3), "passages"),
    ),
    # Chosen set by set on dev: where the cosine helps, and how much of it (docs/LOG.md).
    lesson=(
        *(
            Source(name, "written", ListPlan(10_000, positives=2, negatives=4), advice=True, levelled=True)
            for name in WRITTEN
        ),
        Source("ordinary", "written", ListPlan(1332, negatives=4), advice=True),
        Source(GROUPS, "written", ListPlan(5000, negatives=4), advice=True),
        Source("wikiqa", "train", ListPlan(873, positives=3, negatives=9, answerable=True), advice=True, cosine=0.25),
        Source("wikiqa", "train", ListPlan(800, positives=2, negatives=6), turn=1, advice=True, cosine=0.25),
        Source("trecqa", "train-all", ListPlan(1229, positives=4, negatives=14), advice=True, cosine=0.5),
        Source("semeval2016", "train-part2", ListPlan(379, positives=5, negatives=5), advice=True, cosine=0.5),
        Source("insuranceqa", "train", ListPlan(800, negatives=4), advice=True, cosine=0.5),
        Source("squad11-train-part", "train", ListPlan(1500), "spans", advice=True),
        Source("squad11-dev", "dev", ListPlan(1000), "spans", advice=True),
        Source("squad20-dev", "dev", ListPlan(500), "spans", advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(1200), "spans", advice=True),
        Source("squadshifts-amazon", "test", ListPlan(400), "spans", advice=True),
        Source("quoref-dev", "dev", ListPlan(300), "spans", advice=True),
        Source("squad11-train-part", "train", ListPlan(700, negatives=5), "spans", HARD_SHARES, turn=1, advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(700, negatives=5), "spans", HARD_SHARES, turn=1, advice=True),
        Source("squad11-dev", "dev", ListPlan(3000), "spans", turn=2),
        Source("squad11-train-part", "train", ListPlan(3000), "spans", turn=2),
        Source("squadshifts-new-wiki", "test", ListPlan(2000), "spans", turn=2),
        Source("squad11-train-part", "train", ListPlan(500, negatives=3), "passages", cosine=0.5),
        Source("squadshifts-new-wiki", "test", ListPlan(500, negatives=3), "passages", cosine=0.5),
        Source("boolq", "all", ListPlan(800, negatives=3), "passages", cosine=0.5),
        Source("trecqa", "train-all", ListPlan(1229, positives=2, negatives=12), turn=1, advice=True, cosine=0.5),
    ),
    dev=(
        Source("wikiqa", "dev", ListPlan(126, negatives=60)),
        Source("trecqa", "dev", ListPlan(65, negatives=100)),
        Source("semeval2016", "dev", ListPlan(120, negatives=10)),
        Source("insuranceqa", "dev", ListPlan(120, negatives=14)),
        Source("squad11-train-part", "train", ListPlan(100, negatives=30), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(100, negatives=30), "spans"),
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
    max_tokens: int = 256
    exit_layer: int = 3
    """Behind this layer a first guess is learnt in the lesson."""
    question_layers: int = 0
    """In so many layers questions learn to be read without their candidates."""
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
        questions = [each for each in build.read_both_ways(source.data, source.split) if not is_held_out(each)]
        if source.levelled:
            questions = level_lists(questions, chance)
        plan = replace(source.plan, questions=source.plan.questions // build.thinned)
        if source.kind == "spans":
            drawn = span_lists(questions, plan, chance, source.shares, near)
        elif source.kind == "passages":
            drawn = passage_lists(questions, plan, chance)
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
        if source.kind == "spans":
            known = [question for question in known if is_held_out(question)]
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
