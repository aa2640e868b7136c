"""A larger trained model in, its logits for lists out; what it said is kept on disk, for it takes long to say it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.files import file_sha256, write_bytes
from anselect.engine.score_cache import ScoreCache, score_key
from anselect.errors import DataError
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
    """Return the adviser's logit of each candidate of each list; `folder` keeps them.

    `adviser` is a trained run, or a file of what one has said (`keep_advice`).
    """
    if adviser.is_file():
        return _look_up(adviser, lists)
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


def keep_advice(adviser: Path, lists: Sequence[Question], folder: Path, path: Path) -> int:
    """Write what a trained run says of lists into one small file, without their texts; return how many pairs it has."""
    name = file_sha256(model_folder(adviser) / WEIGHTS)
    logits = advise(adviser, lists, folder)
    said = {
        key: logit
        for own, values in zip(_keys(name, lists), logits, strict=True)
        for key, logit in zip(own, values, strict=True)
    }
    keys = sorted(said)
    with write_bytes(path) as file:
        np.savez_compressed(
            file,
            adviser=np.array(name),
            keys=np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1),
            logits=np.array([said[key] for key in keys], dtype=np.float16),
        )
    return len(keys)


def _look_up(path: Path, lists: Sequence[Question]) -> list[list[float]]:
    try:
        with np.load(path) as kept:
            name, keys, logits = str(kept["adviser"]), kept["keys"], kept["logits"].astype(float)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"expected a file of kept advice, got: {error}", path=path) from error
    said = {key.tobytes(): float(logit) for key, logit in zip(keys, logits, strict=True)}
    try:
        return [[said[key] for key in own] for own in _keys(name, lists)]
    except KeyError as error:
        raise DataError("no advice is kept for some lists: train the larger model anew", path=path) from error


def _keys(name: str, lists: Sequence[Question]) -> list[list[bytes]]:
    return [[score_key(name, each.text, candidate.text) for candidate in each.candidates] for each in lists]
