"""Teachers in, soft labels out: each teacher leaves a fifth of train out and judges every question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from anselect.data.files import require_file
from anselect.training.answer_type_data import LabelledQuestion
from anselect.training.answer_type_fit import Targets, fit, one_hot, predict
from anselect.training.answer_type_model import Student, start_from_bert
from anselect.training.answer_type_recipe import Material, Paths, Recipe

logger = logging.getLogger(__name__)


def soft_labels(paths: Paths, recipe: Recipe, material: Material, teachers: Sequence[int]) -> Targets | None:
    """Return the teachers' mean probabilities for the labelled, then the unlabelled questions; None without any."""
    opinions = [_teach(paths, recipe, material, fold) for fold in teachers]
    if not opinions:
        return None
    mean: Targets = np.mean(opinions, axis=0)
    return mean


def _teach(paths: Paths, recipe: Recipe, material: Material, fold: int) -> Targets:
    """Return one teacher's probabilities; train it where that was not done before."""
    soft_file = paths.work / f"soft-{fold}.npy"
    if soft_file.is_file():
        soft: Targets = np.load(soft_file)
        return soft
    config = replace(recipe.teacher_fit, seed=recipe.teacher_fit.seed + fold)
    tokenizer = load_tokenizer(paths.base)
    teacher = start_student(paths.base, recipe.teacher_layers, range(tokenizer.get_vocab_size()), config.seed)
    known = [question for question in material.labelled if question.fold != fold] + material.requests
    targets = one_hot([question.fine for question in known], recipe.teacher_smoothing)
    fit(teacher, tokenizer, [question.text for question in known], targets, config, paths.work / f"teacher-{fold}.pt")
    asked = [question.text for question in material.labelled] + material.unlabelled
    soft = _predict_in_parts(teacher, tokenizer, asked, soft_file)
    _log_teacher(soft, material.labelled, fold)
    return soft


def start_student(base: Path, layers: Sequence[int], pieces: Sequence[int], seed: int) -> Student:
    """Return an untrained classifier made of the base model's layers and word pieces."""
    from safetensors.torch import load_file

    torch.manual_seed(seed)
    student = Student(len(pieces), len(layers))
    start_from_bert(student, load_file(require_file(base / "model.safetensors")), layers=layers, pieces=pieces)
    return student


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a model folder."""
    return Tokenizer.from_file(str(require_file(folder / "tokenizer.json")))


def _predict_in_parts(
    model: Student, tokenizer: Tokenizer, texts: Sequence[str], path: Path, size: int = 2000
) -> Targets:
    """Predict and save part by part, so that an interruption costs little."""
    parts = []
    for start in range(0, len(texts), size):
        part_file = path.with_name(f"{path.stem}-{start}.npy")
        if not part_file.is_file():
            np.save(part_file, predict(model, tokenizer, texts[start : start + size]))
        parts.append(np.load(part_file))
    soft = np.concatenate(parts)
    np.save(path, soft)
    return soft


def _log_teacher(soft: Targets, labelled: Sequence[LabelledQuestion], fold: int) -> None:
    rows = [row for row, question in enumerate(labelled) if question.fold == fold]
    right = np.mean([soft[row].argmax() == labelled[row].fine for row in rows])
    logger.info("teacher %d: fine accuracy %.4f on the %d questions it never saw", fold, right, len(rows))
