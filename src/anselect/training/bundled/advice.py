"""A trained model in, its logits for lists out; what it said is kept on disk, for it takes long to say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from anselect.data.files import file_sha256
from anselect.engine.folder import MODEL, is_engine_folder
from anselect.engine.ranker import load_engine
from anselect.engine.score_cache import ScoreCache, score_key
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import load_ranker
from anselect.records import Question
from anselect.training.bundled.logits import as_logits

ADVICE: Final = "advice"
"""Where a building keeps what was said."""
WEIGHTS: Final = "model.safetensors"
Logits = Callable[[Sequence[Question]], list[float]]
LISTS_AT_A_TIME: Final = 500
"""So many lists are scored and then kept: a stopped building goes on behind them."""


def advise(adviser: Path, lists: Sequence[Question], folder: Path) -> list[list[float]]:
    """Return the logit that a run or an engine folder gives each candidate of each list; `folder` keeps them."""
    name, logits = _adviser(adviser)
    cache = ScoreCache(folder)
    advice: list[list[float]] = []
    for start in range(0, len(lists), LISTS_AT_A_TIME):
        part = lists[start : start + LISTS_AT_A_TIME]
        keys = _keys(name, part)
        known = cache.get([key for own in keys for key in own])
        wanted = [place for place, own in enumerate(keys) if any(key not in known for key in own)]
        found = iter(logits([part[place] for place in wanted]))
        new = {key: (float(next(found)), False) for place in wanted for key in keys[place]}
        cache.put(new)
        known |= new
        advice += [[known[key][0] for key in own] for own in keys]
    cache.close()
    return advice


def _adviser(folder: Path) -> tuple[str, Logits]:
    """Return a model's hash, and how it gives the candidates of lists, one after the other, their logits."""
    if is_engine_folder(folder):
        engine = load_engine(folder)
        return file_sha256(folder / MODEL), lambda lists: engine.logits(_pairs(lists)).tolist()
    model = model_folder(folder)
    ranker = load_ranker(model)

    def logits(lists: Sequence[Question]) -> list[float]:
        with fast_products():
            scores = ranker.score(lists).scores
        return [float(logit) for own in scores for logit in as_logits(own)]

    return file_sha256(model / WEIGHTS), logits


def _pairs(lists: Sequence[Question]) -> list[tuple[str, str]]:
    return [(each.text, candidate.text) for each in lists for candidate in each.candidates]


def _keys(name: str, lists: Sequence[Question]) -> list[list[bytes]]:
    return [[score_key(name, each.text, candidate.text) for candidate in each.candidates] for each in lists]
