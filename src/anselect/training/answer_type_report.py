"""A model folder and labelled questions in, figures out: accuracy, per-type precision and recall, confusion matrix."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anselect.data.files import file_sha256, write_text
from anselect.errors import MissingExtraError
from anselect.text.answer_type import COARSE_TYPES, FINE_TYPES, AnswerType, AnswerTypeModel
from anselect.training.answer_type_data import TEST_FILE, TRAIN_FILE, LabelledQuestion, normal_form, read_labelled


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the type that was found and the one that is right."""

    text: str
    found: AnswerType
    fine: str

    @property
    def coarse(self) -> str:
        return self.fine.partition(":")[0]


def judge(model: AnswerTypeModel, questions: Sequence[LabelledQuestion]) -> list[Judged]:
    """Detect the type of every question."""
    found = model.detect(question.text for question in questions)
    return [Judged(asked.text, answer, FINE_TYPES[asked.fine]) for asked, answer in zip(questions, found, strict=True)]


def accuracy(judged: Sequence[Judged]) -> dict[str, float]:
    """Return the number of questions and the share with the right coarse and the right fine type."""
    count = max(len(judged), 1)
    return {
        "questions": len(judged),
        "coarse": sum(one.found.coarse == one.coarse for one in judged) / count,
        "fine": sum(one.found.fine == one.fine for one in judged) / count,
    }


def confusion(judged: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """Count the found coarse types (inner) for each right one (outer)."""
    counted = Counter((one.coarse, one.found.coarse) for one in judged)
    return {right: {found: counted[right, found] for found in COARSE_TYPES} for right in COARSE_TYPES}


def per_type(pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, float]]:
    """Return precision, recall and the number of questions for each right or found type of (right, found) pairs.

    Example:
        >>> per_type([("HUM", "HUM"), ("LOC", "HUM")])["HUM"]
        {'questions': 1, 'precision': 0.5, 'recall': 1.0}
    """
    hits = Counter(right for right, found in pairs if right == found)
    right_counts, found_counts = Counter(right for right, _ in pairs), Counter(found for _, found in pairs)
    return {
        name: {
            "questions": right_counts[name],
            "precision": hits[name] / found_counts[name] if found_counts[name] else 0.0,
            "recall": hits[name] / right_counts[name] if right_counts[name] else 0.0,
        }
        for name in sorted(right_counts | found_counts)
    }


def measure_model(data_dir: Path, folder: Path, *, figure: Path | None, errors: Path | None) -> dict[str, Any]:
    """Measure on TREC_10 and write metrics.json and README.md into the model folder."""
    judged = judge(AnswerTypeModel(folder), read_labelled(data_dir / TEST_FILE))
    trained_on = {normal_form(question.text) for question in read_labelled(data_dir / TRAIN_FILE)}
    unseen = [one for one in judged if normal_form(one.text) not in trained_on]
    metrics = {
        "model_sha256": file_sha256(folder / "model.onnx"),
        "trec_10": accuracy(judged),
        "trec_10_without_train_questions": accuracy(unseen),
        "coarse": per_type([(one.coarse, one.found.coarse) for one in judged]),
        "fine": per_type([(one.fine, one.found.fine) for one in judged]),
        "confusion": confusion(judged),
    }
    with write_text(folder / "metrics.json") as file:
        json.dump(metrics, file, indent=2)
        file.write("\n")
    write_card(folder, metrics)
    if figure is not None:
        draw_confusion(confusion(judged), figure)
    if errors is not None:
        write_errors(judged, errors)
    return metrics


def write_errors(judged: Sequence[Judged], path: Path) -> None:
    """Write the questions whose fine type is wrong as TSV: right type, found type, its probability, question."""
    with write_text(path) as file:
        file.write("right\tfound\tprobability\tquestion\n")
        for one in judged:
            if one.found.fine != one.fine:
                probability = one.found.probabilities[one.found.fine]
                file.write(f"{one.fine}\t{one.found.fine}\t{probability:.2f}\t{one.text}\n")


def write_card(folder: Path, metrics: dict[str, Any]) -> None:
    """Write the model card."""
    every, unseen = metrics["trec_10"], metrics["trec_10_without_train_questions"]
    with write_text(folder / "README.md") as file:
        file.write(
            _CARD.format(
                megabytes=sum(path.stat().st_size for path in folder.iterdir() if path.name != "README.md") / 1e6,
                questions=every["questions"],
                coarse=every["coarse"] * 100,
                fine=every["fine"] * 100,
                unseen=unseen["questions"],
                unseen_coarse=unseen["coarse"] * 100,
                unseen_fine=unseen["fine"] * 100,
            )
        )


def draw_confusion(table: dict[str, dict[str, int]], path: Path) -> None:
    """Draw the confusion matrix as a PNG picture: shades are shares of the row, numbers are questions."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("train", "matplotlib") from error

    rows = [[table[right][found] for found in COARSE_TYPES] for right in COARSE_TYPES]
    shares = [[count / max(sum(row), 1) for count in row] for row in rows]
    picture = Figure(figsize=(5.2, 4.6), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for y, row in enumerate(rows):
        for x, count in enumerate(row):
            axes.text(x, y, str(count), ha="center", va="center", color="white" if shares[y][x] > 0.5 else "black")
    axes.set_xticks(range(len(COARSE_TYPES)), COARSE_TYPES)
    axes.set_yticks(range(len(COARSE_TYPES)), COARSE_TYPES)
    axes.set_xlabel("found")
    axes.set_ylabel("right")
    axes.set_title(f"Expected answer type on TREC_10 ({sum(map(sum, rows))} questions)")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=120, metadata={"Software": None})


_CARD = """# Expected-answer-type detector

Six coarse and fifty fine answer types (Li & Roth 2002) for English questions; {megabytes:.1f} MB, runs on onnxruntime.

* Architecture: BERT layers of width 384, the last one evaluated at its first token only; 8-bit integer products.
* Start: all-MiniLM-L6-v2 (Apache-2.0), some of its layers and word pieces.
* Labels: the 5,452 training questions of Li & Roth (TREC question classification; no licence named), rewritten at
  random in each epoch, and short requests made from templates.
* Distilled from six-layer models of the same kind on questions of WikiQA, TrecQA, SQuAD, SQuADShifts and BoolQ; none
  of TREC_10, none of WikiQA's or TrecQA's development and test questions.
* Made by `python -m anselect.training.answer_type train`; figures by `… measure` (see docs/answer-types.md).

| TREC_10 | questions | coarse | fine |
|---|---|---|---|
| all | {questions} | {coarse:.1f} % | {fine:.1f} % |
| without those that also stand in train | {unseen} | {unseen_coarse:.1f} % | {unseen_fine:.1f} % |

Limits: English only; a text without words gives DESC with probability 1/6; yes/no questions have no type of their own
in this scheme (DESC); texts over 64 word pieces are read at their start and end only.
"""
