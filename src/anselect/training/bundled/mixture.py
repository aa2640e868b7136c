"""Labelled questions of many kinds in, one mixed list of short training lists out; a seed decides everything."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from anselect.records import Candidate, Question
from anselect.text.answer_type import detect_answer_types
from anselect.training.bundled.augment import (
    Answered,
    AnswerPool,
    as_users_write,
    with_answer,
    without_answer,
    without_topic,
)


@dataclass(frozen=True, slots=True)
class ListPlan:
    """How long lists are made of one source's questions."""

    questions: int
    """At most so many questions, drawn at random."""
    positives: int = 1
    negatives: int = 4


@dataclass(frozen=True, slots=True)
class Shares:
    """How often each kind of made-up sentence joins a list."""

    other_answer: float = 0.45
    """A wrong candidate: the right sentence with an answer of another type."""
    no_answer: float = 0.35
    """A wrong candidate: the right sentence without its answer."""
    same_type: float = 0.20
    """The right candidate: another answer of the same type."""
    no_topic: float = 0.35
    """The right candidate: the words that it shares with the question are gone."""
    odd_negative: float = 0.15
    """A wrong sentence of the passage with its shared words gone, so that such a gap is no sign of a right one."""
    elsewhere: float = 0.6
    """A wrong candidate from elsewhere in the same document that shares the most words with the question."""


def sample_lists(questions: Sequence[Question], plan: ListPlan, chance: random.Random) -> list[Question]:
    """Draw questions, and for each its positives and some of its negatives, shuffled."""
    drawn = chance.sample(questions, min(plan.questions, len(questions)))
    lists = []
    for question in drawn:
        right = [candidate for candidate in question.candidates if candidate.label == 1]
        wrong = [candidate for candidate in question.candidates if candidate.label == 0]
        kept = chance.sample(right, min(plan.positives, len(right)))
        kept += chance.sample(wrong, min(plan.negatives + plan.positives - len(kept), len(wrong)))
        if kept:
            lists.append(_shuffled(question, kept, chance))
    return lists


def span_lists(
    questions: Sequence[Question], plan: ListPlan, chance: random.Random, shares: Shares | None = None
) -> list[Question]:
    """Make lists of questions whose right sentences are known with their answers, made-up sentences among them."""
    shares = shares or Shares()
    drawn = chance.sample(questions, min(plan.questions, len(questions)))
    answered = dict(zip((question.id for question in drawn), _answered(drawn), strict=True))
    pool = AnswerPool([item for item in answered.values() if item])
    elsewhere = _Documents(drawn)
    lists = []
    for question in drawn:
        item = answered[question.id]
        wrong = [candidate.text for candidate in question.candidates if candidate.label == 0]
        if item is None:
            texts = [(text, 0) for text in chance.sample(wrong, min(plan.negatives, len(wrong)))]
        else:
            texts = _list_of(item, wrong, plan, chance, _Making(shares, pool, elsewhere, question))
        candidates = [Candidate(str(place), text, label) for place, (text, label) in enumerate(texts)]
        if candidates:
            lists.append(_shuffled(question, candidates, chance))
    return lists


@dataclass(frozen=True, slots=True)
class _Making:
    shares: Shares
    pool: AnswerPool
    elsewhere: _Documents
    question: Question


def _list_of(
    item: Answered, wrong: Sequence[str], plan: ListPlan, chance: random.Random, making: _Making
) -> list[tuple[str, int]]:
    shares, made = making.shares, []
    if chance.random() < shares.other_answer and (answer := making.pool.unlike(item, chance)):
        made.append(with_answer(item, answer))
    if chance.random() < shares.no_answer and (rest := without_answer(item)):
        made.append(rest)
    if chance.random() < shares.elsewhere and (near := making.elsewhere.nearest(making.question, item.answer, chance)):
        made.append(near)
    others = chance.sample(wrong, min(max(plan.negatives - len(made), 1), len(wrong)))
    others = [_odd(item, text, chance) if chance.random() < shares.odd_negative else text for text in others]
    return [(_right(item, chance, making), 1), *((text, 0) for text in made + others)]


def _right(item: Answered, chance: random.Random, making: _Making) -> str:
    """Return the right sentence, now and then with another answer of its type, now and then without shared words."""
    if chance.random() < making.shares.same_type and (answer := making.pool.like(item, chance)):
        item = replace(item, sentence=with_answer(item, answer), answer=answer)
    if chance.random() < making.shares.no_topic:
        return without_topic(item, chance) or item.sentence
    return item.sentence


def _odd(item: Answered, text: str, chance: random.Random) -> str:
    return without_topic(replace(item, sentence=text, answer="\0"), chance) or text


def _answered(questions: Iterable[Question]) -> list[Answered | None]:
    """Pick for each question a right sentence in which its answer stands as a whole."""
    known = list(questions)
    found: list[Answered | None] = []
    for question, kind in zip(known, detect_answer_types(question.text for question in known), strict=True):
        places = [candidate for candidate in question.candidates if candidate.label == 1]
        whole = [place for place in places if (answer := place.metadata.get("answer")) and answer in place.text]
        coarse = kind.coarse if kind.confidence > 0.8 else ""
        found.append(Answered(question.text, whole[0].text, whole[0].metadata["answer"], coarse) if whole else None)
    return found


class _Documents:
    """Finds sentences of other passages of the same document that share words with a question."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._sentences: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        for question in questions:
            known = self._sentences[question.metadata.get("document_title", "")]
            for candidate in question.candidates:
                if candidate.text not in known:
                    known[candidate.text] = _words(candidate.text)

    def nearest(self, question: Question, answer: str, chance: random.Random) -> str | None:
        """Return one of the three sentences that share the most words, none of the question's own passage."""
        own = {candidate.text for candidate in question.candidates}
        asked = _words(question.text)
        known = self._sentences[question.metadata.get("document_title", "")]
        shared = [
            (len(asked & words), text)
            for text, words in known.items()
            if text not in own and answer.lower() not in text.lower()
        ]
        best = [text for count, text in sorted(shared, reverse=True)[:3] if count >= 2]
        return chance.choice(best) if best else None


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in text.lower().split() if len(word) > 3)


def _shuffled(question: Question, candidates: Sequence[Candidate], chance: random.Random) -> Question:
    order = list(candidates)
    chance.shuffle(order)
    numbered = tuple(replace(candidate, id=str(place)) for place, candidate in enumerate(order))
    return Question(question.id, as_users_write(question.text, chance), numbered, question.metadata)
