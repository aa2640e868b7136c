"""Questions, scores and a protocol in, an evaluation out: values per question first, their mean second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from anselect.data.protocols import Protocol, Ties
from anselect.errors import DataError
from anselect.evaluation.judgements import (
    BoolArray,
    FloatArray,
    IntArray,
    Judgements,
    check_shape,
    flatten_scores,
    require_ranked,
)
from anselect.evaluation.metrics import DEFAULT_MEASURES, Measured, measure_questions
from anselect.evaluation.ordering import sort_within
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
    return Evaluator(questions).evaluate(scores, protocol=protocol, measures=measures)


class Evaluator:
    """Questions prepared once, to evaluate many rankings of them; raises DataError for candidates without label."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.question_ids = [question.id for question in questions]
        self.judgements = Judgements.from_questions(questions)
        self._questions = questions
        self._candidate_ids = [[candidate.id for candidate in question.candidates] for question in questions]

    def evaluate(self, scores: Scores, *, protocol: Protocol, measures: Sequence[str] = DEFAULT_MEASURES) -> Evaluation:
        """Evaluate scores that are aligned with the questions; see `evaluate_scores`."""
        check_shape(self._questions, scores)
        entries = list(chain.from_iterable(scores))
        return self.evaluate_array(flatten_scores(self._questions, entries), protocol=protocol, measures=measures)

    def evaluate_run(
        self,
        run: Mapping[str, Mapping[str, float]],
        *,
        protocol: Protocol,
        measures: Sequence[str] = DEFAULT_MEASURES,
    ) -> Evaluation:
        """Evaluate scores by question id and candidate id; raise DataError for ids that the questions do not have."""
        entries: list[float | None] = []
        for question_id, candidate_ids in zip(self.question_ids, self._candidate_ids, strict=True):
            own = run.get(question_id, {})
            entries.extend(map(own.get, candidate_ids))
        scores = flatten_scores(self._questions, entries)
        if np.count_nonzero(scores > -np.inf) != sum(map(len, run.values())):
            self._raise_unknown(run)
        return self.evaluate_array(scores, protocol=protocol, measures=measures)

    def evaluate_array(
        self, scores: FloatArray, *, protocol: Protocol, measures: Sequence[str] = DEFAULT_MEASURES
    ) -> Evaluation:
        """Evaluate the scores of all candidates [C], question after question; -inf stands for a missing one."""
        require_ranked(self._questions, scores)
        is_found = None if protocol.keeps_missing else scores > -np.inf
        if protocol.single_precision:
            with np.errstate(over="ignore"):  # trec_eval, too, takes what is beyond single precision for infinite
                scores = scores.astype(np.float32).astype(np.float64)
        tie_order = self._tie_order(protocol.ties)
        measured = measure_questions(self.judgements, scores, measures=measures, tie_order=tie_order, is_found=is_found)
        is_counted = self.judgements.counted(protocol.counting)
        return _summarise(protocol, measured, is_counted, self.judgements.sizes, self.question_ids)

    def _tie_order(self, ties: Ties) -> IntArray | None:
        """Return the candidates [C] in the order in which a rule lets equal scores fall; None where nothing does."""
        if ties is Ties.file_order:
            return np.arange(self.judgements.is_correct.size)
        if ties is Ties.label_first:
            return sort_within(self.judgements.sizes, -self.judgements.is_correct.astype(np.float64))
        return self._descending_ids if ties is Ties.docno_descending else None

    @cached_property
    def _descending_ids(self) -> IntArray:
        """[C] the candidates of each question, the id that is last in byte order first."""
        order: list[int] = []
        for ids in self._candidate_ids:
            keys = [each.encode(errors="surrogatepass") for each in ids]
            start = len(order)
            order.extend(start + place for place in sorted(range(len(ids)), key=keys.__getitem__, reverse=True))
        return np.array(order, dtype=np.int64)

    def _raise_unknown(self, run: Mapping[str, Mapping[str, float]]) -> None:
        known = dict(zip(self.question_ids, map(set, self._candidate_ids), strict=True))
        unknown = [(each, own) for each, scores in run.items() for own in scores if own not in known.get(each, ())]
        names = ", ".join(f"question '{each}' candidate '{own}'" for each, own in unknown[:3])
        raise DataError(f"expected ids of the data, got {len(unknown)} unknown ones, such as {names}: is it its run?")


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
