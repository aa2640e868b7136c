"""Scores and labels in; out come a calibration, how far scores are from what they promise, and how well they abstain.

Written by hand: two parameters and a few sums do not justify scikit-learn, which would triple the size of an install.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from anselect.errors import DataError

Numbers = npt.NDArray[np.float64]
BINS: Final = 10
_STEPS: Final = 50
_PRIOR: Final = 1e-3
"""Weight of a faint pull to slope 1, intercept 0: scores that separate the labels perfectly have no best slope."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling: P(correct) = sigmoid(slope · logit + intercept). It never changes an order, for slope > 0."""

    slope: float = 1.0
    intercept: float = 0.0

    def probabilities(self, logits: Sequence[float] | Numbers) -> Numbers:
        """Return P(correct) of each logit.

        >>> Calibration(2.0, 0.0).probabilities([0.0]).tolist()
        [0.5]
        """
        return sigmoid(self.slope * np.asarray(logits, dtype=np.float64) + self.intercept)


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores of one range: what they promise on average, and what came true."""

    mean_score: float
    share_correct: float
    count: int


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well a question's best score tells whether any of its candidates is right."""

    auroc: float
    """Chance that a question with an answer has a higher best score than one without; ties count half."""
    risk_area: float
    """Mean error rate over all shares of questions answered, the surest first; lower is better."""
    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    """Share of wrong answers among the `coverage` share of questions with the highest best scores."""


def sigmoid(values: Numbers) -> Numbers:
    """Return 1 / (1 + e⁻ˣ) without overflow."""
    half: Numbers = 0.5 * (1.0 + np.tanh(0.5 * values))
    return half


def fit_calibration(logits: Sequence[float] | Numbers, labels: Sequence[int]) -> Calibration:
    """Fit slope and intercept to labels 0 and 1 by maximum likelihood (Newton's method).

    Raises DataError where labels are all alike, or where higher logits are the wrong ones: no order is turned round.
    """
    values, wanted = np.asarray(logits, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if not 0.0 < wanted.sum() < len(wanted):
        raise DataError("expected correct and wrong candidates to calibrate on, got one kind only")
    inputs = np.stack([values, np.ones_like(values)], axis=1)  # (N, 2)
    start = found = np.array([1.0, 0.0])
    for _ in range(_STEPS):
        expected = sigmoid(inputs @ found)
        gradient = inputs.T @ (expected - wanted) + _PRIOR * (found - start)
        weights = expected * (1.0 - expected)
        curvature = (inputs * weights[:, None]).T @ inputs + _PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        # Far from the optimum a whole step can overshoot; halved it cannot run away.
        found = found - step / max(1.0, float(np.abs(step).max()) / 2.0)
        if float(np.abs(step).max()) < 1e-10:
            break
    if found[0] <= 0.0:
        raise DataError(f"expected higher scores for correct candidates, got a slope of {found[0]:.3g}")
    return Calibration(float(found[0]), float(found[1]))


def reliability(scores: Sequence[float] | Numbers, labels: Sequence[int], *, bins: int = BINS) -> list[Bin]:
    """Sort scores in [0, 1] into bins of equal width; empty bins are left out."""
    values, correct = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    places = np.minimum((values * bins).astype(np.int64), bins - 1)
    found = []
    for place in range(bins):
        inside = places == place
        if inside.any():
            found.append(Bin(float(values[inside].mean()), float(correct[inside].mean()), int(inside.sum())))
    return found


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Return the mean distance between promise and truth, each bin weighted by its scores.

    >>> expected_calibration_error([Bin(0.9, 0.8, 10), Bin(0.1, 0.1, 10)])
    0.05
    """
    total = sum(part.count for part in bins)
    return round(sum(part.count * abs(part.mean_score - part.share_correct) for part in bins) / total, 12)


def measure_abstention(best_scores: Sequence[float], right: Sequence[bool], has_answer: Sequence[bool]) -> Abstention:
    """Measure the decision "none of these answers it" by each question's best score.

    `right` says whether the first-ranked candidate is correct (never, where there is no answer). Questions with equal
    best scores share their errors evenly, so that the order of the file decides nothing.
    """
    scores, answered = np.asarray(best_scores, dtype=np.float64), np.asarray(has_answer, dtype=bool)
    if answered.all() or not answered.any():
        raise DataError("expected questions with and without an answer, got one kind only")
    wrong = _shared_evenly(scores, 1.0 - np.asarray(right, dtype=np.float64))
    counts = np.arange(1, len(scores) + 1)
    risk = np.cumsum(wrong) / counts
    return Abstention(
        auroc=area_under_curve(scores, answered),
        risk_area=float(risk.mean()),
        coverage=tuple((counts / len(scores)).tolist()),
        risk=tuple(risk.tolist()),
    )


def area_under_curve(scores: Numbers, positive: npt.NDArray[np.bool_]) -> float:
    """Return the chance that a positive has the higher score than a negative; ties count half.

    >>> area_under_curve(np.array([3.0, 2.0, 2.0]), np.array([True, True, False]))
    0.75
    """
    negatives = np.sort(scores[~positive])
    below = np.searchsorted(negatives, scores[positive], side="left")
    not_above = np.searchsorted(negatives, scores[positive], side="right")
    return float((below + not_above).sum() / (2.0 * positive.sum() * len(negatives)))


def _shared_evenly(scores: Numbers, errors: Numbers) -> Numbers:
    """Order errors by falling score; within a run of equal scores each gets the run's mean."""
    distinct, places = np.unique(-scores, return_inverse=True)
    means = np.bincount(places, weights=errors) / np.bincount(places)
    ordered: Numbers = np.repeat(means, np.bincount(places, minlength=len(distinct)))
    return ordered
