"""A larger trained model in, its logits for lists out; what it said is kept on disk, for it takes long to say it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anselect.data.files import file_sha256
from anselect.engine.score_cache import ScoreCache, score_key
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import load_ranker
from anselect.records import Question
from anselect.training.bundled.logits import as_logits

ADVICE: Final = "advice"
"""Where a building keeps what was said."""
WEIGHTS: Final = "model.safetensors"
LISTS_AT_A_TIME: Final = 500
"""So many lists are scored and then kept: a stopped building goes on behind them."""


def advise(adviser: Path, lists: Sequence[Question], folder: Path) -> list[list[float]]:
    """Return the logit that a trained run gives each candidate of each list; `folder` keeps them."""
    model = model_folder(adviser)
    name = file_sha256(model / WEIGHTS)
    ranker = load_ranker(model)
    cache = ScoreCache(folder)
    advice: list[list[float]] = []
    for start in range(0, len(lists), LISTS_AT_A_TIME):
        part = lists[start : start + LISTS_AT_A_TIME]
        keys = _keys(name, part)
        known = cache.get([key for own in keys for key in own])
        wanted = [place for place, own in enumerate(keys) if any(key not in known for key in own)]
        with fast_products():
            scores = ranker.score([part[place] for place in wanted]).scores
        new = {
            key: (float(logit), False)
            for place, own in zip(wanted, scores, strict=True)
            for key, logit in zip(keys[place], as_logits(own), strict=True)
        }
        cache.put(new)
        known |= new
        advice += [[known[key][0] for key in own] for own in keys]
    cache.close()
    return advice


def _keys(name: str, lists: Sequence[Question]) -> list[list[bytes]]:
    return [[score_key(name, each.text, candidate.text) for candidate in each.candidates] for each in lists]
