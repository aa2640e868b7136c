"""An evaluation in, a table with one row per question out: where a ranking went wrong, with texts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from anselect.data.text_target import open_text_target
from anselect.evaluation.evaluate import Evaluation
from anselect.records import Question

# Of one question the mean's name makes no sense.
_NAMES = {"MAP": "AP", "MRR": "RR"}


def question_rows(questions: Sequence[Question], evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield a row for each question that counts; `first_correct` is a rank, expected over tie orders, or None."""
    by_id = {question.id: question for question in questions}
    measured = evaluation.per_question
    for question_id, first_correct in zip(evaluation.question_ids, evaluation.first_correct.tolist(), strict=True):
        question = by_id[question_id]
        yield {
            "protocol": evaluation.protocol.name,
            "question_id": question_id,
            "question": question.text,
            "candidates": len(question.candidates),
            "correct": question.positives,
            "first_correct": None if math.isnan(first_correct) else first_correct,
            **{_NAMES.get(name, name): value for name, value in measured[question_id].items()},
        }


def write_per_question(path: Path, questions: Sequence[Question], evaluations: Iterable[Evaluation]) -> None:
    """Write the rows of all evaluations: JSONL if the name says so, otherwise TSV with header; `.gz` is zipped."""
    rows = [row for evaluation in evaluations for row in question_rows(questions, evaluation)]
    is_json = {".jsonl", ".ndjson"} & set(path.suffixes)
    with open_text_target(path) as file:
        if not is_json:
            file.write("\t".join(rows[0] if rows else ()) + "\n")
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) if is_json else "\t".join(map(_cell, row.values())))
            file.write("\n")


def _cell(value: object) -> str:
    """Write a field; white space inside becomes single blanks, so that a row stays a line."""
    return "" if value is None else " ".join(str(value).split())
