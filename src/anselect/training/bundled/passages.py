"""Questions with the sentences of their passages in, lists of whole passages out: the question's own among others.

What users rank is often longer than a sentence; a model that has seen only sentences loses what its encoder knew of
longer texts.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

from anselect.records import Candidate, Question
from anselect.training.bundled.mixture import ListPlan, shared_words, shuffled

HELD_OUT = 8
"""The passages of one in so many documents are never learnt: what is measured on them is what users get."""


def is_held_out(question: Question) -> bool:
    """Say whether a question's document is one of those that nothing is learnt from; only named documents are."""
    title = question.metadata.get("document_title", "")
    return bool(title) and crc32(title.encode()) % HELD_OUT == 0


def passage_lists(questions: Sequence[Question], plan: ListPlan, chance: random.Random) -> list[Question]:
    """Make lists of the passages that questions were asked about, and of others of the same document.

    Half of the wrong ones share the most words with the question; without documents all passages are one.
    """
    by_document: dict[str, list[str]] = defaultdict(list)
    for passage, title in dict.fromkeys((_passage(question), _title(question)) for question in questions):
        by_document[title].append(passage)
    drawn = chance.sample(questions, min(plan.questions, len(questions)))
    lists = []
    for question in drawn:
        own = _passage(question)
        others = [passage for passage in by_document[_title(question)] if passage != own]
        wrong = _wrong(question, chance.sample(others, min(len(others), 200)), plan.negatives, chance)
        texts = [(own, 1), *((text, 0) for text in wrong)]
        candidates = [Candidate(str(place), text, label) for place, (text, label) in enumerate(texts)]
        if wrong:
            lists.append(shuffled(question, candidates, chance))
    return lists


def _wrong(question: Question, others: Sequence[str], wanted: int, chance: random.Random) -> list[str]:
    near = sorted(others, key=lambda passage: shared_words(question.text, passage), reverse=True)[: -(-wanted // 2)]
    rest = [passage for passage in others if passage not in near]
    return near + chance.sample(rest, min(wanted - len(near), len(rest)))


def _passage(question: Question) -> str:
    return " ".join(candidate.text for candidate in question.candidates)


def _title(question: Question) -> str:
    return question.metadata.get("document_title", "")
