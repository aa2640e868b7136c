"""A trained model that makes first guesses in, the same model out with the limit below which a guess is final.

Guesses are fitted to the finished model first. The limit is the highest at which rankings of the dev sets stay as good:
hopeless candidates then cost half the layers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from anselect.data.files import write_text
from anselect.errors import UsageError
from anselect.evaluation.calibration import Numbers
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Question
from anselect.training.bundled.exit_fit import fit_exit
from anselect.training.bundled.logits import as_logits
from anselect.training.bundled.measure import NamedSet, mean_figure, measure_sets, scorer
from anselect.training.engine_import import load_start

SHARES: Final = tuple(share / 20 for share in range(2, 19))
"""Which shares of the dev candidates that are short enough are let go, at trial."""
SHORT: Final = 64
"""Pairs of more tokens are read to the end: forums' and customers' answers show late what they say."""
ALLOWED: Final = 0.001
"""How much of the mean figure an exit may cost."""
WORTH: Final = 0.2
"""Of a smaller share nobody would see anything in the speed: such a model reads all to the end."""
RECORD: Final = "exit.json"


def choose_exit(run: Path, lists: Sequence[Question], sets: Sequence[NamedSet], folder: Path) -> Path:
    """Set the limit of a model's exit by dev figures, or take its exit away; write it into `folder` and return that.

    `run` is a run's or an engine's folder. The guess is fitted to what the model says of the lists, which are training
    data; without any it stays as it is.

    What was tried stands in `exit.json`, which comes last: a folder with it is whole and is not made again.
    """
    if (folder / RECORD).is_file():
        return folder
    ranker = load_start(str(run))
    if not isinstance(ranker, CrossEncoderRanker) or not ranker.model.config.exit_layer:
        raise UsageError(f"{run}: expected a cross-encoder that makes first guesses (model.exit_layer)")
    questions = [question for each in sets for question in each.questions]
    ranker.model.config.exit_tokens, ranker.model.config.exit_below = 0, None
    if lists:
        fit_exit(ranker, list(_short_only(ranker, lists)))
    whole, guesses = (_logits(ranker, questions, limit) for limit in (None, math.inf))
    ranker.model.config.exit_tokens = SHORT
    is_short = np.array([tokens <= SHORT for tokens in _tokens(ranker, questions)])
    guesses = np.where(is_short, guesses, math.inf)
    tried = [{"share": 0.0, **_figures(sets, whole)}]
    best = None
    for share in SHARES if is_short.any() else ():
        limit = float(np.quantile(guesses[is_short], share))
        shift = guess_shift(whole, guesses, limit)
        tried.append({"share": share, **_figures(sets, np.where(guesses < limit, guesses - shift, whole))})
        if tried[-1]["mean"] >= tried[0]["mean"] - ALLOWED:
            best = (share, limit, shift)
    layer = ranker.model.config.exit_layer
    if best is None or best[0] < WORTH:
        best = None
        ranker.model.remove_exit()
    else:
        _set_limit(ranker, best[1], best[2])
    ranker.save(folder / "model")
    with write_text(folder / RECORD) as file:
        json.dump(
            {
                "layer": layer,
                "tokens": SHORT,
                "lists": len(lists),
                "chosen": best[0] if best else 0.0,
                "tried": tried,
            },
            file,
        )
    return folder


def guess_shift(whole: Numbers, guesses: Numbers, limit: float) -> float:
    """Return what must be taken from guesses below a limit, so that they mean what the whole model's logits mean.

    >>> guess_shift(np.array([-4.0, -6.0, 1.0]), np.array([-2.0, -2.0, 0.5]), 0.0)
    3.0
    """
    leaving = guesses < limit
    return float((guesses[leaving] - whole[leaving]).mean()) if leaving.any() else 0.0


def _set_limit(ranker: CrossEncoderRanker, limit: float, shift: float) -> None:
    head: Any = ranker.model.exit_head
    bias: torch.Tensor = head.output.bias
    with torch.no_grad():  # two logits share the shift
        bias += torch.tensor([shift / 2, -shift / 2] if len(bias) == 2 else [-shift])
    ranker.model.config.exit_below = limit - shift


def _logits(ranker: CrossEncoderRanker, questions: Sequence[Question], limit: float | None) -> Numbers:
    ranker.model.config.exit_below = limit
    return as_logits([score for own in scorer(ranker)(questions) for score in own])


def _tokens(ranker: CrossEncoderRanker, questions: Sequence[Question]) -> Iterator[int]:
    """Count the tokens of each pair, as the model reads it."""
    for question in questions:
        texts = [candidate.text for candidate in question.candidates]
        most = ranker.model.config.max_tokens
        pairs = encode_pairs(ranker.tokenizer, [question.text] * len(texts), texts, max_tokens=most)
        yield from pairs.inputs["attention_mask"].sum(dim=1).tolist()


def _short_only(ranker: CrossEncoderRanker, lists: Sequence[Question]) -> Iterator[Question]:
    """Leave out candidates that will not leave early: a guess need not be good at them."""
    tokens = _tokens(ranker, lists)
    for each in lists:
        short = tuple(candidate for candidate in each.candidates if next(tokens) <= SHORT)
        if short:
            yield replace(each, candidates=short)


def _figures(sets: Sequence[NamedSet], logits: Numbers) -> dict[str, Any]:
    flat = iter(logits.tolist())

    def deal(questions: Sequence[Question]) -> list[list[float]]:
        return [[next(flat) for _ in question.candidates] for question in questions]

    found = measure_sets(sets, deal)
    return {"mean": mean_figure(found), "dev": found}
