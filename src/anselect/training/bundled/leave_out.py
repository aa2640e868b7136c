"""Some of the sets in, a table out: how well models that never saw a set rank its questions.

What users ask is never in the training data; this is the figure to expect there. A model leaves out two sets that are
unlike each other, so that two models serve four sets: what is left teaches both sentences and long answers.

These models begin with both sides of a pair apart, exactly at the encoder's cosine, learn gently, and keep as much of
the untouched encoder as the dev figures of the sets they know ask for: a plainer training unlearns more of a set that
it never sees than it learns for it (docs/LOG.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from anselect.data.files import write_text
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.rankers import load_ranker
from anselect.training.bundled.data import Build
from anselect.training.bundled.mean_model import choose_mean
from anselect.training.bundled.measure import HARD_FILES, dev_sets, held_out_sets, scorer
from anselect.training.bundled.report import compare
from anselect.training.bundled.sources import Source
from anselect.training.bundled.stages import lesson, untouched

LEFT_OUT: Final = (("wikiqa", "insuranceqa"), ("trecqa", "semeval"))
RECORD: Final = "leave-out.json"
THINNED: Final = 8
"""Every eighth list, gone through once: more would move the model further from the cosine."""
SIDES_APART: Final = 2.5
"""By how much attention between both sides is lowered at first."""
LONG: Final = ("semeval2016", "insuranceqa", "boolq")
"""Sources of long candidates, besides whole passages: the encoder's cosine knows most about those."""
LONG_COSINE: Final = 1.0
"""How much it counts there beside the labels."""
MORE_PASSAGES: Final = 4
"""So many times as many lists of whole passages: on what a long text is about the cosine is a good teacher."""
START_SHARES: Final = (0.0, 0.3, 0.5, 0.7, 0.85)
"""How much of the untouched encoder may stay."""


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
    mixture = replace(build.mixture, lesson=tuple(map(with_more_cosine, build.mixture.lesson)))
    plan = replace(
        build,
        folder=folder,
        mixture=mixture,
        leave_out=names,
        thinned=THINNED,
        sides_apart=build.sides_apart or SIDES_APART,
    )
    # Our own hard questions are left out of the choice: no set that is measured here was written to mislead.
    known = [each for each in dev_sets(plan) if each.name not in HARD_FILES]
    learnt = choose_mean([lesson(plan, None, "gentle")], untouched(plan), known, folder / "learnt", START_SHARES)
    score = scorer(load_ranker(model_folder(learnt)))
    sets = held_out_sets(build)
    return {name: compare([each for each in sets if each.name.startswith(name)], score, build) for name in names}


def with_more_cosine(source: Source) -> Source:
    """Return a source with more of the untouched encoder's cosine, if its candidates are long."""
    if source.kind == "passages":
        more = replace(source.plan, questions=source.plan.questions * MORE_PASSAGES)
        return replace(source, plan=more, cosine=LONG_COSINE)
    return replace(source, cosine=LONG_COSINE) if source.data in LONG else source
