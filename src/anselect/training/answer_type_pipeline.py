"""Every step from questions to the shipped model folder; finished steps are found in the work folder and kept."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from torch import Tensor, nn

from anselect.data.files import file_sha256, require_file, write_text
from anselect.text.answer_type import AnswerTypeModel
from anselect.text.answer_type_labels import FINE_TYPES
from anselect.training.answer_type_data import LabelledQuestion
from anselect.training.answer_type_ensemble import load_tokenizer, soft_labels, start_student
from anselect.training.answer_type_export import write_model, write_tokenizer
from anselect.training.answer_type_fit import Targets, fit, one_hot, predict
from anselect.training.answer_type_model import Student
from anselect.training.answer_type_recipe import Material, Paths, Recipe, read_material
from anselect.training.engine_export_rounding import Limits

logger = logging.getLogger(__name__)


def train_detector(paths: Paths, held_out_fold: int | None, recipe: Recipe | None = None) -> dict[str, Any]:
    """Train, write the model folder and return what was done; with a held-out fold, its figures too."""
    recipe = recipe or Recipe()
    material = read_material(paths.data, recipe)
    pieces = choose_pieces(paths.base, material, recipe.word_pieces)
    tokenizer_file = paths.work / "tokenizer.json"
    write_tokenizer(require_file(paths.base / "tokenizer.json"), pieces, tokenizer_file)
    students = [_learn(paths, recipe, material, pieces, place, held_out_fold) for place in range(len(recipe.students))]
    student = mean_student(students)
    export(student, tokenizer_file, [question.text for question in material.labelled[:1000]], paths.output)
    done: dict[str, Any] = {"recipe": asdict(recipe), "base_sha256": file_sha256(paths.base / "model.safetensors")}
    if held_out_fold is not None:
        done["held_out"] = held_out_figures(paths.output, material.labelled, held_out_fold)
    return done


def choose_pieces(base: Path, material: Material, count: int) -> list[int]:
    """Return the word pieces to keep, in ascending order: special ones, single characters, then the most frequent.

    Ties, and places left over, go to the lower number: BERT numbered its pieces by frequency.
    """
    tokenizer = load_tokenizer(base)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    seen: Counter[int] = Counter()
    labelled = [question.text for question in material.labelled + material.requests]
    for text in labelled + material.unlabelled + material.statements:
        seen.update(tokenizer.encode(text, add_special_tokens=False).ids)
    vocabulary = tokenizer.get_vocab()
    needed = {number for name, number in vocabulary.items() if _is_basic(name)}
    rest = sorted(set(vocabulary.values()) - needed, key=lambda number: (-seen[number], number))
    return sorted(needed | set(rest[: count - len(needed)]))


def _is_basic(piece: str) -> bool:
    is_special = piece in {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return is_special or (len(piece.removeprefix("##")) == 1 and piece.isascii())


def _learn(
    paths: Paths, recipe: Recipe, material: Material, pieces: Sequence[int], place: int, held_out_fold: int | None
) -> Student:
    """Train one student on labels and soft labels; where a fold is held out, no teacher that saw it is asked."""
    about = recipe.students[place]
    teachers = [fold for fold in about.teachers if held_out_fold in (None, fold)]
    soft = soft_labels(paths, recipe, material, teachers)
    student = start_student(paths.base, recipe.student_layers, pieces, about.fit.seed)
    texts, targets = student_material(recipe, material, soft, held_out_fold)
    logger.info("student %d: %d questions in each of %d epochs", place, len(texts), about.fit.epochs)
    name = f"student-{place}" if held_out_fold is None else f"student-{place}-without-{held_out_fold}"
    fit(student, load_tokenizer(paths.work), texts, targets, about.fit, paths.work / f"{name}.pt")
    return student


def mean_student(students: Sequence[Student]) -> Student:
    """Return the first student with the mean of all students' weights (a "model soup", Wortsman et al. 2022)."""
    states = [student.state_dict() for student in students]
    students[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    return students[0]


def student_material(
    recipe: Recipe, material: Material, soft: Targets | None, held_out_fold: int | None
) -> tuple[list[str], Targets]:
    """Return what the student learns: questions with targets, none of the held-out fold."""
    kept = [row for row, question in enumerate(material.labelled) if question.fold != held_out_fold]
    hard = one_hot([material.labelled[row].fine for row in kept], recipe.student_smoothing)
    if soft is not None:
        hard = recipe.teacher_share * soft[kept] + (1 - recipe.teacher_share) * hard
    texts = [material.labelled[row].text for row in kept] * recipe.labelled_copies
    targets = [hard] * recipe.labelled_copies
    texts += [question.text for question in material.requests] + material.statements
    targets.append(one_hot([question.fine for question in material.requests], recipe.student_smoothing))
    described = FINE_TYPES.index("DESC:desc")
    targets.append(one_hot([described] * len(material.statements), recipe.statement_smoothing))
    if soft is not None:
        texts += material.unlabelled
        targets.append(soft[len(material.labelled) :])
    return texts, np.concatenate(targets)


def export(student: Student, tokenizer_file: Path, texts: Sequence[str], output: Path) -> None:
    """Write model.onnx, tokenizer.json and manifest.json."""
    limits = measure_limits(student, Tokenizer.from_file(str(tokenizer_file)), texts)
    write_model(student, limits, output / "model.onnx")
    with write_text(output / "tokenizer.json") as file:
        file.write(tokenizer_file.read_text(encoding="utf-8"))
    hashes = {name: file_sha256(output / name) for name in ("model.onnx", "tokenizer.json")}
    with write_text(output / "manifest.json") as file:
        json.dump({"sha256": hashes}, file, indent=2)


def measure_limits(student: Student, tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, Limits]:
    """Return the smallest and the largest input that each product meets, by the name of its module."""
    limits: dict[str, Limits] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def look(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            low, high = limits.get(name, (0.0, 0.0))
            limits[name] = (min(low, float(inputs[0].min())), max(high, float(inputs[0].max())))

        return look

    modules = [(name, module) for name, module in student.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(watch(name)) for name, module in modules]
    # One question at a time: padding would be measured too.
    predict(student, tokenizer, texts, batch_size=1)
    for hook in hooks:
        hook.remove()
    return limits


def held_out_figures(folder: Path, labelled: Sequence[LabelledQuestion], fold: int) -> dict[str, float]:
    """Measure the written model on the fold that it never saw."""
    asked = [question for question in labelled if question.fold == fold]
    found = list(AnswerTypeModel(folder).detect(question.text for question in asked))
    pairs = [(answer_type, FINE_TYPES[question.fine]) for answer_type, question in zip(found, asked, strict=True)]
    return {
        "questions": len(pairs),
        "coarse": float(np.mean([answer_type.coarse == fine.partition(":")[0] for answer_type, fine in pairs])),
        "fine": float(np.mean([answer_type.fine == fine for answer_type, fine in pairs])),
    }
