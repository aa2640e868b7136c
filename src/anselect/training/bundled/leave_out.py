"""Some of the sets in, a table out: how well models that never saw a set rank its questions.

What users ask is never in the training data; this is the figure to expect there. A model leaves out two sets that are
unlike each other, so that two models serve four sets: what is left teaches both sentences and long answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from anselect.data.files import write_text
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.precision import fast_products
from anselect.modeling.rankers import load_ranker
from anselect.training.bundled.data import Build
from anselect.training.bundled.mean_model import choose_mean
from anselect.training.bundled.measure import dev_sets, held_out_sets, scorer
from anselect.training.bundled.report import compare
from anselect.training.bundled.stages import lesson, untouched

LEFT_OUT: Final = (("wikiqa", "insuranceqa"), ("trecqa", "semeval"))
RECORD: Final = "leave-out.json"
THINNED: Final = 2
"""Every second list, gone through once, is enough to compare by."""


def leave_each_out(build: Build, left_out: Sequence[tuple[str, ...]] = LEFT_OUT) -> dict[str, Any]:
    """Train a model without each group of sets and measure it there; finished ones are not trained again.

    The larger model knows all sets and is not asked: labels and the encoder's cosine teach.
    """
    path = build.folder / RECORD
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for names in left_out:
        if not known.keys() >= set(names):
            known |= _measure_without(build, names)
            with write_text(path) as file:
                json.dump(known, file, indent=2)
    return known


def _measure_without(build: Build, names: tuple[str, ...]) -> dict[str, Any]:
    folder = build.folder / f"without-{'-'.join(names)}"
    plan = replace(build, folder=folder, leave_out=names, thinned=THINNED)
    learnt = choose_mean([lesson(plan, None)], untouched(plan), dev_sets(plan), folder / "learnt")
    score = scorer(load_ranker(model_folder(learnt)))
    sets = held_out_sets(build)
    with fast_products():
        return {name: compare([each for each in sets if each.name.startswith(name)], score, build) for name in names}
