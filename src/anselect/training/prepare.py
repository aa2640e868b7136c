"""A recipe in, its training, dev and test questions out, with the sha256 of the files that they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anselect.config import DataConfig, Recipe, TextConfig
from anselect.data.files import file_sha256
from anselect.data.locate import read_split, split_source
from anselect.data.protocols import Protocol, default_protocol, find_protocol
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.evaluation.labelled_data import read_labelled_questions
from anselect.records import Question
from anselect.text.steps import TextSteps

TRAIN_SPLITS = {"trecqa": "train-all"}
"""The split that papers train on, where it is not called `train`."""


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a training reads. Texts are as they stand in the files; the text steps come later."""

    name: str | None
    """The data set's name in the catalogue; None for a user's own files."""
    train: list[Question]
    dev: list[Question]
    test: list[Question]
    """Empty where the user gave none."""
    files: dict[str, str]
    """Path or name of each file read → sha256."""

    @property
    def pairs(self) -> int:
        """How many labelled pairs there are to train on."""
        return sum(len(question.candidates) for question in self.train)


def read_training_data(config: DataConfig, *, data_dir: Path | None = None) -> TrainingData:
    """Read and filter the questions of a recipe; raise DataError where nothing could be learnt from them."""
    data = _read_own_files(config) if config.train else _read_data_set(config, data_dir)
    train = _filter(data.train, config)
    if not any(question.has_positive for question in train):
        raise DataError("expected correct candidates to train on, got none: are the labels all 0?")
    if not any(question.has_positive for question in data.dev):
        raise DataError("expected correct candidates in dev, got none: the best epoch could not be chosen")
    return replace(data, train=train)


def text_steps(config: TextConfig) -> TextSteps:
    """Return the text steps of a recipe."""
    pipeline = config.pipeline if config.highlight != "none" else ""
    return TextSteps(highlight=config.highlight, pipeline=pipeline, lower_case=config.lower_case)


def choose_protocol(recipe: Recipe, data: TrainingData) -> Protocol:
    """Return the recipe's protocol, or the data set's usual one."""
    return find_protocol(recipe.protocol, data=data.name) if recipe.protocol else default_protocol(data.name)


def _read_own_files(config: DataConfig) -> TrainingData:
    if not config.dev:
        raise UsageError("expected a dev file beside the training file: the best epoch is chosen on it")
    paths = {
        split: Path(name)
        for split, name in (("train", config.train), ("dev", config.dev), ("test", config.test))
        if name
    }
    splits = {split: read_labelled_questions(str(path), split).questions for split, path in paths.items()}
    files = {str(path): file_sha256(path) for path in paths.values() if path.is_file()}
    return TrainingData(None, splits["train"], splits["dev"], splits.get("test", []), files)


def _read_data_set(config: DataConfig, data_dir: Path | None) -> TrainingData:
    train_split = config.train_split or TRAIN_SPLITS.get(config.name, "train")
    files: dict[str, str] = {}
    splits = {}
    for split in (train_split, "dev", "test"):
        try:
            splits[split] = read_split(config.name, split, data_dir=data_dir, detokenize=config.detokenize)
            source = split_source(config.name, split, data_dir)
        except MissingFileError:
            if split != "test":
                raise
            splits[split] = []
            continue
        files |= {f"{config.name}/{file.path.name}": file.sha256 for file in source.files}
    return TrainingData(config.name, splits[train_split], splits["dev"], splits["test"], files)


def _filter(questions: Sequence[Question], config: DataConfig) -> list[Question]:
    if config.drop_long:
        questions = [_without_long(question, config.drop_long) for question in questions]
    if config.train_questions == "answerable":
        questions = [question for question in questions if question.has_positive]
    kept = [question for question in questions if question.candidates]
    return kept[: config.limit_questions] if config.limit_questions else kept


def _without_long(question: Question, most_words: int) -> Question:
    short = (candidate for candidate in question.candidates if len(candidate.text.split()) <= most_words)
    return replace(question, candidates=tuple(short))
