"""The transferred model in, a table out: how well models that never saw a set rank its questions.

What users ask is never in the training data; this is the figure to expect there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anselect.data.files import write_text
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import load_ranker
from anselect.training.bundled.data import Build
from anselect.training.bundled.measure import held_out_sets, scorer
from anselect.training.bundled.report import compare
from anselect.training.bundled.stages import distil

LEFT_OUT: Final = ("wikiqa", "trecqa", "semeval", "insuranceqa")
RECORD: Final = "leave-out.json"
THINNED: Final = 2
"""Every second list is enough to compare by, and takes half the time."""


def leave_each_out(build: Build, transferred: Path, names: Sequence[str] = LEFT_OUT) -> dict[str, Any]:
    """Train a model without each of the sets and measure it there; finished ones are not trained again.

    From the transferred model, which saw none of the sets, in one stage: labels, that model and the cosine teach.
    """
    path = build.folder / RECORD
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name in names:
        if name not in known:
            known[name] = _measure_without(build, name, transferred)
            with write_text(path) as file:
                json.dump(known, file, indent=2)
    return known


def _measure_without(build: Build, name: str, transferred: Path) -> dict[str, Any]:
    own = replace(build, folder=build.folder / f"without-{name}", leave_out=name, thinned=THINNED)
    ranker = load_ranker(model_folder(distil(own, transferred)))
    sets = [each for each in held_out_sets(build) if each.name.startswith(name)]
    return compare(sets, scorer(ranker), build)
