"""Scores in, logits out; logits of several judges in, one logit for each candidate out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from anselect.evaluation.calibration import Numbers

TINY: Final = 1e-6
"""The least distance of a probability from 0 and 1, and the least spread that says anything."""


def as_logits(scores: Sequence[float]) -> Numbers:
    """Turn P(correct) back into logits; what is as good as sure stays finite.

    >>> as_logits([0.5, 0.0]).round(1).tolist()
    [0.0, -13.8]
    """
    likely = np.clip(np.asarray(scores, dtype=np.float64), TINY, 1.0 - TINY)
    logits: Numbers = np.log(likely / (1.0 - likely))
    return logits


def mixed_logits(logits: Numbers, cosines: Sequence[float], share: float) -> Numbers:
    """Add to one list's logits its cosines, brought to the spread of the logits, times a share.

    >>> mixed_logits(np.array([2.0, 0.0]), [0.1, 0.9], 0.5).tolist()
    [1.5, 0.5]
    """
    other = np.asarray(cosines, dtype=np.float64)
    spread = float(other.std())
    if spread < TINY:
        return logits
    mixed: Numbers = logits + share * float(logits.std()) * (other - other.mean()) / spread
    return mixed
