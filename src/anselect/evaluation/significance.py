"""Two runs' values for the same questions in, how large and how sure their difference is out, by way of scipy.

Only Holm's correction is written here: scipy has none, and statsmodels is a large dependency for six lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anselect.errors import MissingExtraError, UsageError

RESAMPLES: Final = 50_000
"""Drawn where not all can be tried; a p-value near 0.05 then moves by about 0.0014 from seed to seed."""
EXACT_UP_TO: Final = 16
"""With at most so many questions that differ, all 2^16 sign patterns are tried and no seed matters."""
EQUAL_WITHIN: Final = 1e-9
"""Values closer than this are equal: far below any true difference of two measures, far above rounding."""
CELLS_AT_ONCE: Final = 2_000_000
"""How many resampled values are held in memory at a time."""

FloatArray = NDArray[np.float64]


class Interval(NamedTuple):
    """A confidence interval of a mean difference."""

    low: float
    high: float


class RandomisationTest(NamedTuple):
    """What a paired randomisation test found."""

    p: float
    is_exact: bool
    """All sign patterns were tried, none was drawn by chance."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How a run differs from a baseline over the same questions."""

    questions: int
    mean: float
    """Mean of run minus baseline."""
    interval: Interval | None
    """Bootstrap interval of the mean, 95 %; None with a single question."""
    t_test: float | None
    """p of the paired t-test; None where it is not defined."""
    randomisation: RandomisationTest
    wins: int
    """Questions for which the run has the higher value."""
    losses: int
    ties: int


def compare_paired(
    values: ArrayLike, baseline: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES
) -> PairedDifference:
    """Test the difference between two runs' values, which stand in the same order of questions.

    Raises UsageError when the values are not as many, not finite or none at all, MissingExtraError without scipy.
    """
    differences = _subtract(values, baseline)
    return PairedDifference(
        questions=len(differences),
        mean=float(differences.mean()),
        interval=bootstrap_interval(values, baseline, seed=seed, resamples=resamples),
        t_test=paired_t_test(values, baseline),
        randomisation=randomisation_test(values, baseline, seed=seed, resamples=resamples),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
    )


def paired_t_test(values: ArrayLike, baseline: ArrayLike) -> float | None:
    """Return the two-sided p-value of the paired t-test; 1 for equal values.

    None where t is not defined: a single question that differs, or the same difference for every question.
    """
    differences = _subtract(values, baseline)
    if not differences.any():
        return 1.0
    if _is_constant(differences):
        return None
    return float(_import_stats().ttest_rel(np.asarray(values, float), np.asarray(baseline, float)).pvalue)


def randomisation_test(
    values: ArrayLike, baseline: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES
) -> RandomisationTest:
    """Test, two-sided, whether run and baseline could change places question by question (Fisher 1935).

    Exact for up to 16 questions that differ, otherwise with so many random sign patterns, seeded; 1 for equal values.
    """
    differences = _subtract(values, baseline)
    # A difference of 0 has no sign to change: without these questions the test is the same, and exact more often.
    differences = differences[differences != 0]
    if len(differences) < 2:  # none differ, or one, whose both signs are equally extreme; scipy takes two or more
        return RandomisationTest(1.0, is_exact=True)
    if len(differences) <= EXACT_UP_TO:
        # Of one sample, "samples" means to change the sign of each value: all patterns are tried.
        exact = _import_stats().permutation_test(
            (differences,), _mean, permutation_type="samples", vectorized=True, n_resamples=np.inf
        )
        return RandomisationTest(float(exact.pvalue), is_exact=True)
    # permutation_test could draw as well, but sorts to do so: 16 times slower than a random bit per sign.
    drawn = _import_stats().monte_carlo_test(
        differences,
        _SignFlips(differences, seed),
        _mean,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, CELLS_AT_ONCE // len(differences)),
    )
    return RandomisationTest(float(drawn.pvalue), is_exact=False)


def bootstrap_interval(
    values: ArrayLike, baseline: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Interval | None:
    """Return the bias-corrected and accelerated bootstrap interval (Efron 1987) of the mean difference, seeded.

    None with a single question, which says nothing about others. The same difference everywhere is the whole interval.
    """
    differences = _subtract(values, baseline)
    if len(differences) < 2:
        return None
    if _is_constant(differences):
        mean = float(differences.mean())
        return Interval(mean, mean)
    found = _import_stats().bootstrap(
        (differences,),
        _mean,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, CELLS_AT_ONCE // len(differences)),
        confidence_level=confidence,
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    return Interval(float(found.confidence_interval.low), float(found.confidence_interval.high))


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for having made several comparisons (Holm 1979); a p that is not defined stays None.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none falls below a smaller one, none exceeds 1.

    Example:
    >>> adjust_holm([0.25, 0.0625, None, 0.125])
    [0.25, 0.1875, None, 0.25]
    """
    ranked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, place) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - done) * p))
        adjusted[place] = highest
    return adjusted


def _subtract(values: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """Return run minus baseline, with differences that are only rounding set to 0."""
    ours, theirs = np.asarray(values, float), np.asarray(baseline, float)
    if ours.shape != theirs.shape or ours.ndim != 1:
        raise UsageError(
            f"expected values for the same questions, got {ours.size} and {theirs.size}: evaluate both runs alike"
        )
    if not len(ours):
        raise UsageError("expected at least one question to compare on, got none")
    differences = ours - theirs
    if not np.isfinite(differences).all():
        raise UsageError("expected finite values for every question, got one that is not a number or infinite")
    return np.where(np.abs(differences) < EQUAL_WITHIN, 0.0, differences)


class _SignFlips:
    """Draws the differences with random signs: what could have come if run and baseline were alike."""

    def __init__(self, differences: FloatArray, seed: int) -> None:
        self._differences = differences
        self._generator = np.random.default_rng(seed)

    def __call__(self, size: tuple[int, int]) -> FloatArray:
        bits = np.frombuffer(self._generator.bytes(math.ceil(math.prod(size) / 8)), np.uint8)
        is_kept = np.unpackbits(bits, count=math.prod(size)).reshape(size)
        return np.where(is_kept, self._differences, -self._differences)


def _is_constant(differences: FloatArray) -> bool:
    return bool(np.ptp(differences) < EQUAL_WITHIN)


def _mean(values: FloatArray, axis: int) -> FloatArray:
    return np.asarray(values.mean(axis=axis))


def _import_stats() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingExtraError("train", "scipy") from error
    return stats  # type: ignore[no-any-return]
