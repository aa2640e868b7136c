"""A model that makes first guesses in, the same out with a limit below which a pair is read no further, chosen by dev.

Most candidates are plainly wrong, and the lower layers see it. The limit is the highest one at which the dev figures
are not worse than those of the whole model: what is saved costs nothing that could be measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from anselect.data.files import write_text
from anselect.evaluation.calibration import Numbers
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import TrainedRanker, load_ranker
from anselect.training.bundled.measure import NamedSet, mean_figure, measure_set, scorer
from anselect.training.bundled.teacher import as_logits

SHARES: Final = tuple(step / 20 for step in range(1, 20))
"""Shares of the dev pairs that may leave early."""
RECORD: Final = "exit.json"

Scores = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the model says of one set: in whole, and at first."""

    each: NamedSet
    whole: Scores
    guesses: Scores

    def figure(self, limit: float) -> float:
        """Return the figure when guesses below the limit stand."""
        mixed = [
            [guess if guess < limit else score for guess, score in zip(*pair, strict=True)]
            for pair in zip(self.guesses, self.whole, strict=True)
        ]
        return measure_set(self.each, lambda _: mixed)


def choose_exit(run: Path, sets: Sequence[NamedSet], folder: Path) -> Path:
    """Set the limit of a model's exit and keep it in a folder of its own, which is returned.

    What was tried stands in `exit.json`, which comes last: a folder with it is whole and is not made again.
    """
    if (folder / RECORD).is_file():
        return folder
    ranker = load_ranker(model_folder(run))
    config: Any = ranker.model.config
    record: dict[str, Any] = {"layer": config.exit_layer, "below": None, "share": 0.0, "tried": []}
    if config.exit_layer:
        seen = _read(ranker, sets)
        record |= _highest(seen)
        config.exit_below = record["below"]
    ranker.save(folder / "model")
    with write_text(folder / RECORD) as file:
        json.dump(record, file, indent=2)
    return folder


def _read(ranker: TrainedRanker, sets: Sequence[NamedSet]) -> list[_Seen]:
    config: Any = ranker.model.config
    found = []
    for each in sets:
        config.exit_below = None
        whole = scorer(ranker)(each.questions)
        config.exit_below = float("inf")  # every guess stands
        found.append(_Seen(each, whole, scorer(ranker)(each.questions)))
    return found


def _highest(seen: Sequence[_Seen]) -> dict[str, Any]:
    """Try shares from small to large, and stop at the first whose figures are worse than the whole model's."""
    guesses = np.array([guess for each in seen for row in each.guesses for guess in row])
    tried = [_try(seen, guesses, 0.0)]
    chosen: dict[str, Any] = {"below": None, "share": 0.0}
    for share in SHARES:
        limit = float(np.quantile(guesses, share))
        tried.append(_try(seen, guesses, limit))
        if tried[-1]["mean"] < tried[0]["mean"]:
            break
        if tried[-1]["share"]:
            chosen = {"below": float(as_logits([limit])[0]), "share": tried[-1]["share"]}
    return {**chosen, "tried": tried}


def _try(seen: Sequence[_Seen], guesses: Numbers, limit: float) -> dict[str, Any]:
    figures = {each.each.name: each.figure(limit) for each in seen}
    return {"share": float((guesses < limit).mean()), "mean": mean_figure(figures), "dev": figures}
