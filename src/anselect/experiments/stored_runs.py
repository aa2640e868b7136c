"""A TREC run that `write_run` wrote in, the scores it was made from out, ties included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from anselect.data.files import read_lines
from anselect.evaluation.run_scores import read_run_scores
from anselect.records import Question

Scores = list[list[float | None]]


def read_stored_scores(path: Path, questions: Sequence[Question]) -> Scores:
    """Read a run's scores, and put together again what the file had to set apart.

    A TREC file holds no ties: equal scores are written with the least step between them, and the first line tells how
    many pairs that concerns. Where undoing it gives exactly that number, ties count as they did when the run was
    measured; where not, the file is taken as it stands.
    """
    scores = read_run_scores(path, questions).scores
    joined = [join_ties(own) for own in scores]
    return joined if sum(map(_count_ties, joined)) == _told_ties(path) else scores


def join_ties(scores: Sequence[float | None]) -> list[float | None]:
    """Give scores that follow each other in single precision the highest of their values.

    >>> join_ties([0.25, 0.5, float(np.nextafter(np.float32(0.5), np.float32(0))), None])
    [0.25, 0.5, 0.5, None]
    """
    falling = sorted({score for score in scores if score is not None}, reverse=True)
    top = dict(zip(falling, falling, strict=True))
    for higher, lower in pairwise(falling):
        if np.nextafter(np.float32(higher), np.float32(-np.inf)) == np.float32(lower):
            top[lower] = top[higher]
    return [None if score is None else top[score] for score in scores]


def _count_ties(scores: Sequence[float | None]) -> int:
    _, counts = np.unique([score for score in scores if score is not None], return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _told_ties(path: Path) -> int | None:
    first = next((line for _, line in read_lines(path)), "")
    found = re.search(r"tied_pairs=(\d+)", first) if first.startswith("#") else None
    return int(found[1]) if found else None
