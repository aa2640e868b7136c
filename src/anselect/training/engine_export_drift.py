"""Questions with the original's and the exported model's scores in; how far they lie apart out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anselect.data.protocols import Protocol
from anselect.errors import AnselectError, MissingExtraError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.records import Question

Scores = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Drift:
    """What an export changed, measured on labelled questions."""

    data: str
    protocol: str
    questions: int
    """Those that the protocol counts."""
    map_original: float
    map_exported: float
    kendall_tau: float
    """Mean over questions of τ-b between both orders of the candidates; 1 for the same order."""
    largest_difference: float
    """Of a score."""

    @property
    def map_drop(self) -> float:
        """How much worse the exported model ranks; negative where it ranks better."""
        return self.map_original - self.map_exported

    def require(self, max_drift: float) -> None:
        """Raise AnselectError if MAP fell by more than allowed."""
        if not self.map_drop <= max_drift:
            message = f"MAP on {self.data} fell from {self.map_original:.4f} to {self.map_exported:.4f}"
            raise AnselectError(
                f"{message}, more than --max-drift {max_drift}: nothing was written; try --precision fp32"
            )


def measure_drift(
    questions: Sequence[Question], original: Scores, exported: Scores, *, data: str, protocol: Protocol
) -> Drift:
    """Compare two sets of scores of the same questions; raise DataError for candidates without label."""
    before = evaluate_scores(questions, original, protocol=protocol)
    after = evaluate_scores(questions, exported, protocol=protocol)
    return Drift(
        data=data,
        protocol=protocol.name,
        questions=before.questions,
        map_original=before.measures["MAP"].value,
        map_exported=after.measures["MAP"].value,
        kendall_tau=mean_tau(original, exported),
        largest_difference=largest_difference(original, exported),
    )


def mean_tau(original: Scores, exported: Scores) -> float:
    """Return the mean of Kendall's τ-b over the questions where it is defined, 1 where there is none.

    Example:
        >>> mean_tau([[0.1, 0.2, 0.3], [0.5]], [[0.3, 0.2, 0.1], [0.7]])
        -1.0
    """
    try:
        from scipy.stats import kendalltau
    except ImportError as error:
        raise MissingExtraError("train", "scipy") from error

    # One candidate, or equal scores throughout, have no order to compare.
    pairs = [(a, b) for a, b in zip(original, exported, strict=True) if len(set(a)) > 1 and len(set(b)) > 1]
    return min(1.0, math.fsum(float(kendalltau(a, b).statistic) for a, b in pairs) / len(pairs)) if pairs else 1.0


def largest_difference(original: Scores, exported: Scores) -> float:
    """Return the largest difference of a candidate's two scores, 0 where there is none."""
    both = zip(original, exported, strict=True)
    return max((abs(x - y) for a, b in both for x, y in zip(a, b, strict=True)), default=0.0)
