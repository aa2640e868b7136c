"""What one training of the answer-type detector is made of: places, choices, texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from anselect.training.answer_type_data import (
    TEST_FILE,
    TRAIN_FILE,
    LabelledQuestion,
    read_labelled,
    read_statements,
    read_unlabelled,
)
from anselect.training.answer_type_fit import FitConfig
from anselect.training.answer_type_templates import made_requests


@dataclass(frozen=True, slots=True)
class Paths:
    """Where things lie."""

    data: Path
    """The data folder: trec-qc, wikiqa, trecqa, transfer."""
    base: Path
    """all-MiniLM-L6-v2: where teachers and student start."""
    work: Path
    """Finished steps."""
    output: Path


@dataclass(frozen=True, slots=True)
class StudentRecipe:
    """How one of the students learns."""

    teachers: tuple[int, ...]
    """By the fifth of train that each never sees: its figures there are honest, its soft labels too."""
    fit: FitConfig


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that was chosen, on held-out parts of train only."""

    teacher_layers: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    teacher_fit: FitConfig = field(default_factory=lambda: FitConfig(epochs=6, learning_rate=2e-4))
    teacher_smoothing: float = 0.1
    student_layers: tuple[int, ...] = (0, 1, 3, 5)
    """Which layers of the base model the student starts from."""
    students: tuple[StudentRecipe, ...] = (
        StudentRecipe(teachers=(0, 2), fit=FitConfig(epochs=5, learning_rate=3e-4, coarse_weight=0.5)),
        StudentRecipe(teachers=(0, 1, 2), fit=FitConfig(epochs=5, learning_rate=3e-4, coarse_weight=1.0)),
    )
    """They start from the same weights; the mean of what they end with ships. On the held-out fold it beats either."""
    student_smoothing: float = 0.05
    teacher_share: float = 0.5
    """Weight of the teachers beside the label, where there is a label."""
    labelled_copies: int = 2
    requests_per_template: int = 3
    statements: int = 800
    statement_smoothing: float = 0.7
    """A text that asks nothing should give DESC without conviction."""
    word_pieces: int = 17_500


@dataclass(frozen=True, slots=True)
class Material:
    """The texts of one training."""

    labelled: list[LabelledQuestion]
    requests: list[LabelledQuestion]
    unlabelled: list[str]
    statements: list[str]


def read_material(data_dir: Path, recipe: Recipe) -> Material:
    """Read everything; of TREC_10 only the wording is looked at, to keep it out of the unlabelled questions."""
    labelled = read_labelled(data_dir / TRAIN_FILE)
    known = [question.text for question in labelled + read_labelled(data_dir / TEST_FILE)]
    unlabelled = read_unlabelled(data_dir, exclude=known)
    requests = made_requests(recipe.requests_per_template, seed=0)
    return Material(labelled, requests, unlabelled, read_statements(data_dir, recipe.statements))
