"""One run on one data set in, a report per protocol out: measures beside baselines and published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from anselect.data.protocols import Protocol, Ties
from anselect.evaluation.baselines import baseline_scores
from anselect.evaluation.evaluate import Evaluation, Evaluator, MeasureValue, Scores, evaluate_scores
from anselect.evaluation.labelled_data import LabelledData
from anselect.evaluation.metrics import DEFAULT_MEASURES
from anselect.evaluation.published import PublishedFigure, published_figures

BASELINE_MEASURES = ("MAP", "MRR")


@dataclass(frozen=True, slots=True)
class Report:
    """What a run gets under one protocol, and what to compare it with."""

    data: LabelledData
    evaluation: Evaluation
    missing_candidates: int
    baselines: Mapping[str, Mapping[str, MeasureValue]]
    """By the baseline's name, then by the measure's."""
    skipped_baselines: Mapping[str, str]
    """Baselines that could not run, and why."""
    published: Sequence[PublishedFigure] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values; figures are not rounded."""
        evaluation = self.evaluation
        return {
            "data": self.data.source,
            "split": self.data.split,
            "protocol": evaluation.protocol.name,
            "questions": evaluation.questions,
            "candidates": evaluation.candidates,
            "missing_candidates": self.missing_candidates,
            "tied_pairs": evaluation.tied_pairs,
            "measures": {name: asdict(value) for name, value in evaluation.measures.items()},
            "baselines": {
                name: {measure: value.value for measure, value in values.items()}
                for name, values in self.baselines.items()
            },
            "published": [asdict(figure) for figure in self.published],
            "warning": evaluation.protocol.warning or None,
        }


def build_reports(
    data: LabelledData, scores: Scores, protocols: Sequence[Protocol], *, measures: Sequence[str] = DEFAULT_MEASURES
) -> list[Report]:
    """Evaluate scores and every baseline under each protocol."""
    baselines = baseline_scores(data.questions)
    evaluator = Evaluator(data.questions)
    missing = sum(score is None for score in chain.from_iterable(scores))
    return [
        Report(
            data=data,
            evaluation=evaluator.evaluate(scores, protocol=protocol, measures=measures),
            missing_candidates=missing,
            baselines={
                name: evaluator.evaluate(own, protocol=protocol, measures=BASELINE_MEASURES).measures
                for name, own in baselines.items()
            },
            skipped_baselines=baselines.skipped,
            published=published_figures(data.name, data.split, protocol),
        )
        for protocol in protocols
    ]


def warn_of_labels(data: LabelledData, scores: Scores, protocol: Protocol) -> str:
    """Say how far figures would be off if the scores look like labels; empty where they do not.

    The questions of the protocol count; whatever its rule for ties, the average is over their orders.

    Two values for many candidates are what argmax leaves of a two-class model. An evaluator that lets the label break
    ties then prints the best case.
    """
    values = sorted({score for score in chain.from_iterable(scores) if score is not None})
    if not 1 <= len(values) <= 2:
        return ""
    fair = replace(protocol, ties=Ties.expected)
    evaluation = evaluate_scores(data.questions, scores, protocol=fair, measures=BASELINE_MEASURES)
    if not evaluation.tied_pairs:
        return ""
    effects = "; ".join(
        f"{name} is {value.value:.4f} on average over tie orders and {value.worst:.4f} at worst, while an evaluator "
        f"that lets the label break ties would print {value.best:.4f}"
        for name, value in evaluation.measures.items()
    )
    shown = " or ".join(f"{value:g}" for value in values)
    found = f"the scores look like labels, each is {shown}: {effects} (protocol {protocol.name})"
    return f"{found}; give the class probability or logit instead"
