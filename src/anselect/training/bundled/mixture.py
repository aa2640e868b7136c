"""Labelled questions of many kinds in, one mixed list of short training lists out; a seed decides everything."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from anselect.records import Candidate, Question
from anselect.text.answer_type import detect_answer_types
from anselect.training.bundled.augment import (
    Answered,
    AnswerPool,
    as_users_write,
    echo,
    in_other_words,
    stuffed,
    with_answer,
    without_answer,
    without_topic,
)
from anselect.training.bundled.near_words import NearWords


@dataclass(frozen=True, slots=True)
class ListPlan:
    """How long lists are made of one source's questions."""

    questions: int
    """At most so many questions, drawn at random."""
    positives: int = 1
    negatives: int = 4
    answerable: bool = False
    """Only questions that have a right candidate."""


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
    other_words: float = 0.0
    """The right candidate: words that it shares with the question give way to words of near meaning."""
    echo: float = 0.0
    """A wrong candidate: the question said again."""


STUFFED: Final = 0.04
"""Of so many lists one candidate is the question's words said over and over."""
WITHOUT_STOP: Final = 0.15
"""In so many lists no candidate ends with a full stop."""
HARD_SHARES: Final = Shares(
    other_answer=0.9,
    no_answer=0.6,
    no_topic=0.5,
    odd_negative=0.3,
    elsewhere=0.9,
    other_words=0.8,
    echo=0.3,
)
"""For lists in which shared words mislead."""


def sample_lists(questions: Sequence[Question], plan: ListPlan, chance: random.Random) -> list[Question]:
    """Draw questions, and for each its positives and some of its other candidates (wrong or not judged), shuffled."""
    known = [question for question in questions if question.has_positive] if plan.answerable else questions
    drawn = chance.sample(known, min(plan.questions, len(known)))
    lists = []
    for question in drawn:
        right = [candidate for candidate in question.candidates if candidate.label == 1]
        wrong = [candidate for candidate in question.candidates if candidate.label != 1]
        kept = chance.sample(right, min(plan.positives, len(right)))
        kept += chance.sample(wrong, min(plan.negatives + plan.positives - len(kept), len(wrong)))
        if kept:
            lists.append(shuffled(question, kept, chance))
    return lists


def span_lists(
    questions: Sequence[Question],
    plan: ListPlan,
    chance: random.Random,
    shares: Shares | None = None,
    near: NearWords | None = None,
) -> list[Question]:
    """Make lists of questions whose right sentences are known with their answers, made-up sentences among them.

    Without `near` no word gives way to another.
    """
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
            texts = _list_of(item, wrong, plan, chance, _Making(shares, pool, elsewhere, question, near))
        candidates = [Candidate(str(place), text, label) for place, (text, label) in enumerate(texts)]
        if candidates:
            lists.append(shuffled(question, candidates, chance))
    return lists


def with_fewer_wrong(question: Question, wanted: int, chance: random.Random) -> Question:
    """Keep every right candidate and, drawn at random, so many wrong ones."""
    wrong = [candidate for candidate in question.candidates if candidate.label == 0]
    kept = {candidate.id for candidate in chance.sample(wrong, min(wanted, len(wrong)))}
    candidates = tuple(item for item in question.candidates if item.label == 1 or item.id in kept)
    return replace(question, candidates=candidates)


@dataclass(frozen=True, slots=True)
class _Making:
    shares: Shares
    pool: AnswerPool
    elsewhere: _Documents
    question: Question
    near: NearWords | None


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
    if shares.echo and chance.random() < shares.echo:
        made.append(echo(item.question, chance))
    others = chance.sample(wrong, min(max(plan.negatives - len(made), 1), len(wrong)))
    others = [_odd(item, text, chance, making) if chance.random() < shares.odd_negative else text for text in others]
    return [(_right(item, chance, making), 1), *((text, 0) for text in made + others)]


def _right(item: Answered, chance: random.Random, making: _Making) -> str:
    """Return the right sentence, now and then with another answer of its type, now and then without shared words."""
    if chance.random() < making.shares.same_type and (answer := making.pool.like(item, chance)):
        item = replace(item, sentence=with_answer(item, answer), answer=answer)
    if chance.random() < making.shares.no_topic:
        item = replace(item, sentence=without_topic(item, chance) or item.sentence)
    return _reworded(item, chance, making)


def _odd(item: Answered, text: str, chance: random.Random, making: _Making) -> str:
    """Do to a wrong sentence what is done to right ones."""
    changed = without_topic(replace(item, sentence=text, answer="\0"), chance) or text
    return _reworded(replace(item, sentence=changed, answer="\0"), chance, making)


def _reworded(item: Answered, chance: random.Random, making: _Making) -> str:
    share = making.shares.other_words
    if making.near is not None and share and chance.random() < share:
        return in_other_words(item, making.near, chance)
    return item.sentence


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


def shared_words(question: str, text: str) -> int:
    """Count the longer words that stand in both."""
    return len(_words(question) & _words(text))


def shuffled(question: Question, candidates: Sequence[Candidate], chance: random.Random) -> Question:
    """Return a training list: candidates in any order and written as users may write them, as is the question.

    Now and then a text joins it that only says the question's words over and over.
    """
    order = list(candidates)
    if chance.random() < STUFFED:
        order.append(Candidate("", stuffed(question.text, chance), 0))
    if chance.random() < WITHOUT_STOP:
        order = [replace(each, text=each.text.rstrip(" .") or each.text) for each in order]
    chance.shuffle(order)
    numbered = tuple(replace(candidate, id=str(place)) for place, candidate in enumerate(order))
    return Question(question.id, as_users_write(question.text, chance), numbered, question.metadata)
