"""Questions, scores and a protocol in, an evaluation out: values per question first, their mean second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anselect.data.protocols import Protocol, Ties
from anselect.evaluation.judgements import BoolArray, FloatArray, IntArray, Judgements, flatten_scores
from anselect.evaluation.metrics import DEFAULT_MEASURES, Measured, measure_questions
from anselect.records import Question

Scores = Sequence[Sequence[float | None]]
"""One list per question, one score per candidate; None for a candidate that the run lacks."""


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """The mean of one measure over the questions that count."""

    value: float
    worst: float
    """If every tie fell against the correct candidates."""
    best: float
    """If every tie fell for them."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one set of scores gets under one protocol."""

    protocol: Protocol
    question_ids: tuple[str, ...]
    """The questions that count, in the order of the data."""
    candidates: int
    tied_pairs: int
    measures: Mapping[str, MeasureValue]
    values: Mapping[str, FloatArray]
    """Each measure question by question, aligned with question_ids; `MAP` holds the average precisions."""
    first_correct: FloatArray
    """The (expected) rank of the first correct candidate of each such question; NaN where none was found."""

    @property
    def questions(self) -> int:
        """How many questions count."""
        return len(self.question_ids)

    @property
    def per_question(self) -> Mapping[str, Mapping[str, float]]:
        """The measures of each question that counts, by question id."""
        columns = {name: values.tolist() for name, values in self.values.items()}
        return {
            question_id: {name: column[place] for name, column in columns.items()}
            for place, question_id in enumerate(self.question_ids)
        }


def evaluate_scores(
    questions: Sequence[Question], scores: Scores, *, protocol: Protocol, measures: Sequence[str] = DEFAULT_MEASURES
) -> Evaluation:
    """Evaluate scores that are aligned with the questions and their candidates.

    Raises DataError for candidates without label and for NaN or infinite scores.

    >>> from anselect.data.protocols import PROTOCOLS
    >>> from anselect.records import Candidate
    >>> question = Question("q", "Who?", (Candidate("a", "He.", 1), Candidate("b", "It.", 0)))
    >>> evaluate_scores([question], [[0.5, 0.5]], protocol=PROTOCOLS["answerable"]).measures["MAP"]
    MeasureValue(value=0.75, worst=0.5, best=1.0)
    """
    flat = flatten_scores(questions, scores)
    judgements = Judgements.from_questions(questions)
    tie_order = _tie_order(protocol.ties, questions, judgements)
    ids = [question.id for question in questions]
    return evaluate_arrays(judgements, flat, ids, protocol=protocol, measures=measures, tie_order=tie_order)


def evaluate_arrays(
    judgements: Judgements,
    scores: FloatArray,
    question_ids: Sequence[str],
    *,
    protocol: Protocol,
    measures: Sequence[str] = DEFAULT_MEASURES,
    tie_order: IntArray | None = None,
) -> Evaluation:
    """Evaluate a flat array of scores, -inf for missing ones; the way to go for millions of candidates.

    tie_order is needed by protocols whose ties are not `expected`; see `measure_questions`.
    """
    is_found = None if protocol.keeps_missing else scores > -np.inf
    if protocol.single_precision:
        with np.errstate(over="ignore"):  # trec_eval, too, takes what is beyond single precision for infinite
            scores = scores.astype(np.float32).astype(np.float64)
    measured = measure_questions(judgements, scores, measures=measures, tie_order=tie_order, is_found=is_found)
    is_counted = judgements.counted(protocol.counting)
    return _summarise(protocol, measured, is_counted, judgements.sizes, question_ids)


def _summarise(
    protocol: Protocol, measured: Measured, is_counted: BoolArray, sizes: IntArray, question_ids: Sequence[str]
) -> Evaluation:
    return Evaluation(
        protocol=protocol,
        question_ids=tuple(question_ids[place] for place in np.flatnonzero(is_counted).tolist()),
        candidates=int(sizes[is_counted].sum()),
        tied_pairs=int(measured.tied_pairs[is_counted].sum()),
        measures={
            name: MeasureValue(*(_mean(array[is_counted]) for array in (each.value, each.worst, each.best)))
            for name, each in measured.measures.items()
        },
        values={name: each.value[is_counted] for name, each in measured.measures.items()},
        first_correct=measured.first_correct[is_counted],
    )


def _mean(values: FloatArray) -> float:
    """Return the mean, 0 of nothing."""
    return float(values.mean()) if values.size else 0.0


def _tie_order(ties: Ties, questions: Sequence[Question], judgements: Judgements) -> IntArray | None:
    """Return what orders equal scores under a rule, lowest first; None where nothing does."""
    if ties is Ties.file_order:
        return np.arange(judgements.is_correct.size)
    if ties is Ties.label_first:
        return 1 - judgements.is_correct.astype(np.int64)
    if ties is Ties.docno_descending:
        return descending_ids(questions)
    return None


def descending_ids(questions: Sequence[Question]) -> IntArray:
    """Number the candidates [C] so that within each question the id that is last in byte order comes first."""
    ids = [candidate.id.encode(errors="surrogatepass") for question in questions for candidate in question.candidates]
    order = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
    places = np.empty(len(ids), dtype=np.int64)
    places[order] = np.arange(len(ids))
    return places
