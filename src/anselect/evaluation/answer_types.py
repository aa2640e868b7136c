"""An evaluation in, its values by the kind of answer that each question expects out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from anselect.evaluation.evaluate import Evaluation
from anselect.records import Question
from anselect.text.answer_type import detect_answer_types


def values_by_answer_type(
    evaluation: Evaluation, questions: Sequence[Question], measure: str = "MAP"
) -> dict[str, list[float]]:
    """Return a measure's values of the questions that count, by coarse answer type."""
    texts = {question.id: question.text for question in questions}
    types = detect_answer_types(texts[question_id] for question_id in evaluation.question_ids)
    values: dict[str, list[float]] = defaultdict(list)
    for kind, value in zip(types, evaluation.values[measure].tolist(), strict=True):
        values[kind.coarse].append(value)
    return dict(values)
