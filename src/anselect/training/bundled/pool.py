"""Questions in, lists out of the sentences that stand nearest to them among very many, whatever these were said of.

Nobody has judged such sentences; a larger model says which of them answer. A small model learns more from what another
knows the more different texts it is shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import torch

from anselect.records import Candidate, Question
from anselect.training.bundled.mixture import ListPlan, shuffled

NEAREST: Final = 30
"""The wrong candidates are drawn from so many."""
ALWAYS: Final = 2
"""So many of the nearest are always among them."""
WORDS: Final = range(4, 61)
"""How many words a sentence of the pool has."""
QUESTIONS_AT_A_TIME: Final = 500

Vectors = Callable[[Sequence[str]], Mapping[str, torch.Tensor]]
"""Texts to their vectors of length 1."""


class Pool:
    """Sentences with their vectors."""

    def __init__(self, texts: Iterable[str], vectors: Vectors) -> None:
        self._texts = list(dict.fromkeys(text for text in texts if len(text.split()) in WORDS))
        known = vectors(self._texts)
        self._table = torch.stack([known[text] for text in self._texts]).float() if self._texts else torch.empty(0, 1)
        self._vectors = vectors

    def nearest(self, questions: Sequence[str]) -> list[list[str]]:
        """Return the sentences that stand nearest to each question, the nearest first."""
        found: list[list[str]] = []
        count = min(NEAREST, len(self._texts))
        for start in range(0, len(questions), QUESTIONS_AT_A_TIME):
            part = questions[start : start + QUESTIONS_AT_A_TIME]
            known = self._vectors(part)
            cosines = torch.stack([known[text] for text in part]).float() @ self._table.T
            found += [[self._texts[place] for place in row] for row in cosines.topk(count).indices.tolist()]
        return found


def near_lists(questions: Sequence[Question], pool: Pool, plan: ListPlan, chance: random.Random) -> list[Question]:
    """Make lists of sentences near to each question, not judged, and of one that is known to be right, if any is."""
    drawn = chance.sample(questions, min(plan.questions, len(questions)))
    lists = []
    for question, near in zip(drawn, pool.nearest([question.text for question in drawn]), strict=True):
        right = [each.text for each in question.candidates if each.label == 1 and len(each.text.split()) in WORDS]
        kept = chance.sample(right, min(plan.positives, len(right)))
        others = [text for text in near if text not in kept]
        rest = others[ALWAYS:]
        others = others[:ALWAYS] + chance.sample(rest, min(plan.negatives - ALWAYS, len(rest)))
        candidates = [Candidate("", text, 1) for text in kept] + [Candidate("", text, None) for text in others]
        lists.append(shuffled(question, candidates, chance))
    return lists
