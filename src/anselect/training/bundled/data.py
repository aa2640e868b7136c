"""The data sets that the bundled model learns from in, its training and dev files out, free of any evaluation text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from anselect.data.files import write_text
from anselect.data.locate import existing_roots, read_split
from anselect.data.overlap import without_overlap
from anselect.data.reading import write_questions
from anselect.data.treebank import detokenize as treebank_to_text
from anselect.errors import MissingFileError
from anselect.modeling.precision import fast_products
from anselect.records import Question
from anselect.training.answer_type_data import TRAIN_FILE, read_labelled
from anselect.training.bundled.cosine import text_vectors
from anselect.training.bundled.levelling import level_lists
from anselect.training.bundled.mixture import sample_lists, span_lists, with_fewer_wrong
from anselect.training.bundled.near_words import NearWords
from anselect.training.bundled.passages import is_held_out, passage_lists
from anselect.training.bundled.pool import Pool, near_lists
from anselect.training.bundled.sources import MIXTURE, TREC_QUESTIONS, Mixture, Source
from anselect.training.bundled.written_lists import read_written

POSTS: Final = ("semeval2016", "insuranceqa", "trecqa")
"""Sources whose candidates are no sentences of a pool: posts and expert answers, and newswire's Penn tokens."""
TOKENIZED: Final = ("trecqa", TREC_QUESTIONS)
"""Sets whose files hold Penn tokens; users have such texts as well as plain ones."""
NEWSWIRE_SHARE: Final = 3
"""The sentences of one in so many of TrecQA's questions are pool enough."""


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
    sides_apart: float = 0.0
    """By how much attention between question and candidate is lowered when the lesson begins."""
    seed: int = 0
    leave_out: tuple[str, ...] = ()
    """Data sets, none of whose years and splits the model may see: what it gets there is what users get."""
    thinned: int = 1
    """One of so many questions of each source is enough."""
    data_dir: Path | None = None
    teachers: Mapping[str, Path] = field(default_factory=dict)
    """Models, by data set, that are asked for advice on its lists instead of the stage's own adviser."""

    def read(self, name: str, split: str, *, detokenize: bool = True) -> list[Question]:
        """Read a split as users write: TrecQA's Penn tokens become text."""
        if split == "written":
            return read_written(name)
        if name == TREC_QUESTIONS:
            return self._trec_questions(detokenize=detokenize)
        return read_split(name, split, data_dir=self.data_dir, detokenize=detokenize and name == "trecqa")

    def read_both_ways(self, name: str, split: str) -> list[Question]:
        """Read a split to learn from: every other question of TREC keeps its tokens, for users have such files."""
        questions = self.read(name, split)
        if name in TOKENIZED:
            questions[::2] = self.read(name, split, detokenize=False)[::2]
        return questions

    def _trec_questions(self, *, detokenize: bool) -> list[Question]:
        path = next(
            (root / TRAIN_FILE for root in existing_roots(self.data_dir) if (root / TRAIN_FILE).is_file()), None
        )
        if path is None:
            raise MissingFileError(f"expected {TRAIN_FILE} in a folder of data sets, there is none: set ANSELECT_DATA")
        texts = dict.fromkeys(each.text for each in read_labelled(path))
        return [
            Question(str(place), treebank_to_text(text) if detokenize else text, ()) for place, text in enumerate(texts)
        ]

    def is_left_out(self, source: Source) -> bool:
        """Say whether a source belongs to a set that is left out; `semeval` stands for all its years."""
        is_newswire = source.kind == "near" and source.pool == "newswire"
        return source.data.rstrip("0123456789") in self.leave_out or (is_newswire and "trecqa" in self.leave_out)


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
    pools = _pools(build, sources)
    for place, source in enumerate(sources):
        if build.is_left_out(source):
            continue
        turn = f" {source.turn}" if source.turn else ""
        chance = random.Random(f"{build.seed} {stage} {source.data} {source.split}{turn}")
        questions = _learnable(build, source)
        if source.levelled:
            questions = level_lists(questions, chance)
        plan = replace(source.plan, questions=source.plan.questions // build.thinned)
        if source.kind == "spans":
            drawn = span_lists(questions, plan, chance, source.shares, near)
        elif source.kind == "passages":
            drawn = passage_lists(questions, plan, chance)
        elif source.kind == "near":
            drawn = near_lists(questions, pools[source.pool], plan, chance)
        else:
            drawn = sample_lists(questions, plan, chance)
        lists += [replace(question, id=f"{place}-{question.id}") for question in drawn]
    return lists


def _learnable(build: Build, source: Source) -> list[Question]:
    return [each for each in build.read_both_ways(source.data, source.split) if not is_held_out(each)]


def _pools(build: Build, sources: Sequence[Source]) -> dict[str, Pool]:
    """Gather the pools that the sources draw near sentences from, by name."""
    wanted = {source.pool for source in sources if source.kind == "near"}
    gather = {"sentences": lambda: _sentences(build, sources), "newswire": lambda: _newswire(build)}
    with fast_products():
        return {name: Pool(gather[name](), text_vectors(build.encoder)) for name in sorted(wanted)}


def _sentences(build: Build, sources: Sequence[Source]) -> Iterator[str]:
    """Yield those of all sources that may be learnt from; answers in forums and whole passages are none."""
    own = {(source.data, source.split): source for source in sources if source.data not in POSTS}
    for source in own.values():
        if not build.is_left_out(source):
            yield from (each.text for question in _learnable(build, source) for each in question.candidates)


def _newswire(build: Build) -> Iterator[str]:
    for question in build.read_both_ways("trecqa", "train-all")[::NEWSWIRE_SHARE]:
        yield from (candidate.text for candidate in question.candidates)


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
