"""Logits in, scores strictly between 0 and 1 out, in the same order."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

# Beyond it the numbers just below 1 lie so far apart that a sigmoid would make equals of different logits.
STEEP: Final = 20.0
_REST: Final = 1.0 - 1.0 / (1.0 + np.exp(-STEEP))
_LEAST: Final = np.finfo(np.float64).tiny
_MOST: Final = np.nextafter(1.0, 0.0)


def to_scores(logits: NDArray[np.float64], *, temperature: float = 1.0, bias: float = 0.0) -> NDArray[np.float64]:
    """Return sigmoid(logit / temperature + bias) in double precision; NaN stays NaN.

    Above 20 the distance from 1 falls as 1 / x instead of exp(-x), so that order is kept where a sigmoid rounds to 1.

    Example:
        >>> to_scores(np.array([0.0, 1000.0, 1001.0])).tolist() == sorted({0.5, *to_scores(np.array([1e3, 1001.0]))})
        True
    """
    shifted = logits / temperature + bias
    small = np.exp(-np.abs(shifted))
    scores = np.where(shifted >= 0, 1.0, small) / (1.0 + small)
    far = shifted > STEEP
    scores[far] = 1.0 - _REST * STEEP / shifted[far]
    clipped: NDArray[np.float64] = np.clip(scores, _LEAST, _MOST)
    return clipped
