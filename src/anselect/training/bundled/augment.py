"""A question and its right sentence in, sentences that look alike but are wrong, and right ones that look unlike, out.

Questions written for a passage share most of their words with the right sentence; a model trained on nothing else
learns to count shared words. The wrong sentences made here share them all and lack the answer, or name a thing of
another kind in its place; the right ones made here keep the answer and lose the shared words. Both kinds of change are
made to right and wrong sentences alike, so that an odd sentence is no sign of a wrong one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from anselect.training.bundled.near_words import NearWords

SWAPPED_TYPES: Final = ("HUM", "LOC", "NUM")
"""Coarse answer types whose answers cannot be mistaken for each other's."""
_LEADING_WORDS: Final = frozenset(
    [
        "in",
        "on",
        "at",
        "by",
        "of",
        "from",
        "to",
        "for",
        "with",
        "since",
        "until",
        "during",
        "around",
        "about",
        "near",
        "under",
        "over",
        "between",
        "after",
        "before",
        "within",
    ]
)
_FILLERS: Final = frozenset(["the", "a", "an", "some", "his", "her", "its", "their"])
_ARTICLE_AT_END: Final = re.compile(r"\b(?:the|a|an)\s*$", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_FEWEST_TOPIC_CHARACTERS: Final = 4
_KEPT_WORDS: Final = 0.2
_FUNCTION_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "about after also been before does during from have into many more most much only other over than that their "
        "them then there these they this those through under upon used were what when where which while whom whose "
        "with would",
    )
)
_ECHOES: Final = (
    "Many people ask {question}.",
    "Find out {question} and much more.",
    "It is still disputed {question}.",
    "This article is about {question}.",
    "The question {question} has often been asked.",
    "I would also like to know {question}.",
)


@dataclass(frozen=True, slots=True)
class Answered:
    """A sentence that answers a question, and where."""

    question: str
    sentence: str
    answer: str
    """Stands in the sentence."""
    answer_type: str
    """Coarse type that the question asks for."""


class AnswerPool:
    """Answers of other questions, by the type that those ask for."""

    def __init__(self, answered: Sequence[Answered]) -> None:
        self._answers: dict[str, list[str]] = {kind: [] for kind in SWAPPED_TYPES}
        for item in answered:
            if item.answer_type in self._answers and 0 < len(item.answer.split()) <= 5:
                self._answers[item.answer_type].append(item.answer)

    def like(self, item: Answered, chance: random.Random) -> str | None:
        """Draw an answer of the same type, written in the same way (digits or not, capital or not)."""
        shape = _shape(item.answer)
        known = self._answers.get(item.answer_type, [])
        drawn = (chance.choice(known) for _ in range(20 if known else 0))
        return next((answer for answer in drawn if _shape(answer) == shape and answer != item.answer), None)

    def unlike(self, item: Answered, chance: random.Random) -> str | None:
        """Draw an answer of another type; None where the type of this one is not sharp enough to tell."""
        if item.answer_type not in SWAPPED_TYPES:
            return None
        others = [kind for kind in SWAPPED_TYPES if kind != item.answer_type and self._answers[kind]]
        return chance.choice(self._answers[chance.choice(others)]) if others else None


def with_answer(item: Answered, answer: str) -> str:
    """Put another answer into the sentence.

    >>> with_answer(Answered("Who?", "Bell made it.", "Bell", "HUM"), "Rome")
    'Rome made it.'
    """
    return item.sentence.replace(item.answer, answer, 1)


def without_answer(item: Answered) -> str | None:
    """Take the answer out, with the preposition before it; None where the rest would no longer be a sentence.

    >>> without_answer(Answered("When?", "It was made in Boston in 1876 by Bell.", "1876", "NUM"))
    'It was made in Boston by Bell.'
    """
    start = item.sentence.find(item.answer)
    if start < 0:
        return None
    before, behind = item.sentence[:start].rstrip(), item.sentence[start + len(item.answer) :]
    words = before.split(" ")
    while words and words[-1].lower() in _FILLERS:
        words.pop()
    if not words or words[-1].lower() not in _LEADING_WORDS or not (words := words[:-1]):
        return None
    rest = " ".join(words) + (behind if behind[:1] in {".", ",", ";", " ", ""} else f" {behind}")
    return rest if len(_WORD.findall(rest)) >= 4 else None


def without_topic(item: Answered, chance: random.Random) -> str | None:
    """Replace the longest run of words shared with the question by a pronoun; None where nothing worth it is shared.

    >>> item = Answered("Who made the first telephone?", "The first telephone was made by Bell.", "Bell", "HUM")
    >>> without_topic(item, random.Random(0))
    'This was made by Bell.'
    """
    run = _longest_shared(item)
    if run is None:
        return None
    start, end = run
    pronoun = chance.choice(["It", "This"])
    if item.sentence[start:end][:1].isupper() and chance.random() < 0.3:
        pronoun = chance.choice(["He", "She", "They"])
    head = _ARTICLE_AT_END.sub("", item.sentence[:start])
    return head + (pronoun if not head.strip() else pronoun.lower()) + item.sentence[end:]


def in_other_words(item: Answered, near: NearWords, chance: random.Random) -> str:
    """Replace words shared with the question, clear of the answer, by words of near meaning."""
    asked = {word.lower() for word in _WORD.findall(item.question)} - _FUNCTION_WORDS
    hidden = item.sentence.find(item.answer)

    def other(word: re.Match[str]) -> str:
        in_answer = hidden <= word.start() < hidden + len(item.answer)
        if in_answer or word[0].lower() not in asked or chance.random() < _KEPT_WORDS:
            return word[0]
        return near.draw(word[0], chance) or word[0]

    return _WORD.sub(other, item.sentence)


def echo(question: str, chance: random.Random) -> str:
    """Return a sentence that says the question again and answers nothing.

    >>> echo("Who made it?", random.Random(1))
    'Find out who made it and much more.'
    """
    asked = question.strip().rstrip("? ")
    return chance.choice(_ECHOES).format(question=asked[:1].lower() + asked[1:])


def stuffed(question: str, chance: random.Random) -> str:
    """Return a text that says the question's words over and over, as those do that are made to be found.

    >>> stuffed("who made it?", random.Random(3))
    'who made it who made it who made it'
    """
    words = _WORD.findall(question)[:12]
    times = chance.choice([2, 3, 5, 8, 12])
    ordered = words if chance.random() < 0.5 else chance.sample(words, len(words))
    return " ".join(ordered * times)


def _longest_shared(item: Answered) -> tuple[int, int] | None:
    """Find the longest run of the sentence's words that stand in the question too, clear of the answer."""
    asked = {word.lower() for word in _WORD.findall(item.question)}
    hidden = item.sentence.find(item.answer)
    best: tuple[int, int] | None = None
    run: tuple[int, int] | None = None
    for word in _WORD.finditer(item.sentence):
        in_answer = hidden <= word.start() < hidden + len(item.answer)
        if word[0].lower() not in asked or in_answer:
            run = None
            continue
        run = (run[0] if run else word.start(), word.end())
        if best is None or run[1] - run[0] > best[1] - best[0]:
            best = run
    return best if best and best[1] - best[0] >= _FEWEST_TOPIC_CHARACTERS else None


def _shape(answer: str) -> tuple[bool, bool]:
    return any(character.isdigit() for character in answer), answer[:1].isupper()


def _swap_letters(text: str, chance: random.Random) -> str:
    places = [place for place in range(1, len(text) - 2) if text[place].isalpha() and text[place + 1].isalpha()]
    if not places:
        return text
    place = chance.choice(places)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


WAYS_TO_ASK: Final[Sequence[tuple[float, Callable[[str, random.Random], str]]]] = (
    (0.70, lambda text, _: text),
    (0.15, lambda text, _: text.rstrip("? ").lower()),
    (0.08, lambda text, _: text.rstrip("? ")),
    (0.05, _swap_letters),
    (0.02, lambda text, _: text.upper()),
)
"""How users write questions: as they stand, in lower case, without a question mark, with a typo, in capitals."""


def as_users_write(question: str, chance: random.Random) -> str:
    """Rewrite a question in one of the ways in which users do, most often not at all."""
    drawn = chance.choices(WAYS_TO_ASK, weights=[weight for weight, _ in WAYS_TO_ASK])[0]
    return drawn[1](question, chance) or question
