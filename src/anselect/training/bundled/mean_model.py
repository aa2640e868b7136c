"""Trained models of one start in, one model out whose weights are their weighted mean, chosen by dev figures.

Models that were trained from the same start lie in one valley: the mean of their weights ranks better than each of
them, on what they have not seen above all (Wortsman et al. 2022, model soups and WiSE-FT).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from anselect.data.files import write_text
from anselect.errors import UsageError
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import TrainedRanker
from anselect.training.bundled.measure import NamedSet, mean_figure, measure_sets, scorer
from anselect.training.engine_import import load_start

START_SHARES: Final = (0.0, 0.1, 0.2, 0.3)
"""How much of the model that the others started from may stay in the mean."""
MOST_LOST: Final = 0.035
"""How much of any set's figure a share may cost, against the first that was tried: the best mean must not be bought
with one set."""
RECORD: Final = "mean.json"


def mean_model(shares: Mapping[Path, float]) -> TrainedRanker:
    """Return a ranker whose weights are the weighted mean of those of the runs; shares should add up to 1."""
    first, *others = shares
    ranker = load_start(str(first))
    weights = {name: value * shares[first] for name, value in ranker.model.state_dict().items()}
    for run in others:
        own = load_start(str(run)).model.state_dict()
        if {name: value.shape for name, value in own.items()} != {name: value.shape for name, value in weights.items()}:
            raise UsageError(f"{run}: expected a model of the same form as {first}")
        for name, value in own.items():
            weights[name] = weights[name] + shares[run] * value
    ranker.model.load_state_dict({name: value.to(torch.float32) for name, value in weights.items()})
    return ranker


def choose_mean(
    runs: Sequence[Path],
    start: Path,
    sets: Sequence[NamedSet],
    folder: Path,
    start_shares: Sequence[float] = START_SHARES,
) -> Path:
    """Choose by dev figures how many of the last runs are averaged, then how much of the start; return the folder.

    Runs stand in the order in which they were trained. What costs any set more than `MOST_LOST`, against the first
    share, is not kept.

    What was tried stands in `mean.json`, which comes last: a folder with it is whole and is not made again.
    """
    if (folder / RECORD).is_file():
        return folder
    first, *others = start_shares
    tried = [_attempt(runs[-last:], start, first, sets) for last in range(1, len(runs) + 1)]
    # Of equals the last: the more runs and the more of the start, the less is forgotten.
    plain = max(reversed(tried), key=_mean)
    averaged = runs[-len(plain["runs"]) :]
    mixed = [_attempt(averaged, start, share, sets) for share in others]
    allowed = [each for each in (plain, *mixed) if _most_lost(plain["dev"], each["dev"]) <= MOST_LOST]
    chosen = max(reversed(allowed), key=_mean)
    mean_model(_shares(averaged, start, chosen["start_share"])).save(folder / "model")
    record = {"start": start.name, "runs": chosen["runs"], "chosen": chosen["start_share"], "tried": [*tried, *mixed]}
    with write_text(folder / RECORD) as file:
        json.dump(record, file, indent=2)
    return folder


def _attempt(runs: Sequence[Path], start: Path, share: float, sets: Sequence[NamedSet]) -> dict[str, Any]:
    with fast_products():
        figures = measure_sets(sets, scorer(mean_model(_shares(runs, start, share))))
    return {
        "runs": [run.name for run in runs],
        "start_share": share,
        "mean": mean_figure(figures),
        "dev": figures,
    }


def _mean(attempt: Mapping[str, Any]) -> float:
    return float(attempt["mean"])


def _shares(runs: Sequence[Path], start: Path, share: float) -> dict[Path, float]:
    own = {run: (1.0 - share) / len(runs) for run in runs if share < 1.0}
    return own | ({start: share} if share else {})


def _most_lost(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    return max(before[name] - value for name, value in after.items())
