"""Training questions and held-out questions in; out comes which texts they share, or the training without those."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final, NamedTuple

from anselect.records import Candidate, Question

NEAR: Final = 0.8
"""Questions whose word shingles have at least this Jaccard similarity count as nearly equal."""
SHINGLE_WORDS: Final = 2
FEWEST_WORDS: Final = 6
"""Candidates of fewer words are equal by chance (`Thank you very much!`) and are not looked at."""
KINDS: Final = ("question-exact", "question-same", "question-near", "candidate-exact", "candidate-same")
"""Every kind of overlap: equal to the letter, equal but for case, punctuation and blanks, nearly equal."""

_NO_WORD: Final = re.compile(r"[\W_]+")


class Place(NamedTuple):
    """Where a text stands."""

    question_id: str
    candidate_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """A held-out text that stands in the training data as well."""

    kind: str
    held_out: Place
    train: Place
    similarity: float = 1.0


@dataclass(frozen=True, slots=True)
class Dropped:
    """What `without_overlap` took out of the training data."""

    equal_questions: int = 0
    """Questions that are held-out ones but for case, punctuation and blanks."""
    near_questions: int = 0
    candidates: int = 0
    """Candidates of the questions that are left, or were left without a correct one."""
    emptied_questions: int = 0
    """Questions that lost all their candidates, or all their correct ones."""


def plain_words(text: str) -> str:
    """Return the words of a text in lower case with one blank between: equal for texts that differ in signs only.

    >>> plain_words("Who’s  the “Head” of A.B. Inc.?")
    'who s the head of a b inc'
    """
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return _NO_WORD.sub(" ", folded).strip()


@dataclass(slots=True)
class TextTable:
    """The texts of a set of questions, ready to be compared with those of another."""

    questions: list[tuple[Place, str]] = field(default_factory=list)
    """Each question with its plain words."""
    by_words: dict[str, Place] = field(default_factory=dict)
    """The first question with these plain words."""
    question_texts: set[str] = field(default_factory=set)
    candidates: dict[str, Place] = field(default_factory=dict)
    """The first candidate with these plain words, from FEWEST_WORDS up."""
    candidate_texts: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, questions: Iterable[Question], *, only_correct: bool = False) -> TextTable:
        """Gather the texts; `only_correct` leaves out candidates that are not labelled 1."""
        table = cls()
        for question in questions:
            place, words = Place(question.id, None, question.text), plain_words(question.text)
            table.questions.append((place, words))
            table.by_words.setdefault(words, place)
            table.question_texts.add(question.text)
            for candidate in question.candidates:
                if candidate.is_correct or not only_correct:
                    table._add(question.id, candidate)
        return table

    def _add(self, question_id: str, candidate: Candidate) -> None:
        if candidate.text in self.candidate_texts:
            return
        self.candidate_texts.add(candidate.text)
        words = plain_words(candidate.text)
        if words.count(" ") + 1 >= FEWEST_WORDS:
            self.candidates.setdefault(words, Place(question_id, candidate.id, candidate.text))


class NearQuestions:
    """An inverted index that finds the question nearest to another among many.

    Two sets that are so alike share at least one of the rarest few shingles of either: only these are indexed, as in
    Chaudhuri, Ganti, Kaushik: A Primitive Operator for Similarity Joins in Data Cleaning. ICDE 2006.
    """

    def __init__(self, questions: Iterable[tuple[Place, str]]) -> None:
        self._entries = [(place, shingles(words)) for place, words in questions]
        counts = Counter(shingle for _, own in self._entries for shingle in own)
        self._index: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, own) in enumerate(self._entries):
            rarest = sorted(own, key=lambda shingle: (counts[shingle], shingle))
            for shingle in rarest[: len(own) - ceil(NEAR * len(own)) + 1]:
                self._index[shingle].append(number)

    def nearest(self, words: str) -> tuple[Place, float] | None:
        """Return the nearest question with its similarity, the first of equals; None where none is near enough."""
        own = shingles(words)
        numbers = sorted({number for shingle in own for number in self._index.get(shingle, ())})
        found = [(jaccard(own, self._entries[number][1]), number) for number in numbers]
        similarity, number = max(found, key=lambda pair: (pair[0], -pair[1]), default=(0.0, -1))
        return (self._entries[number][0], similarity) if similarity >= NEAR else None


def shingles(words: str) -> frozenset[str]:
    """Return the runs of two words, with the word itself where there is one only."""
    parts = words.split()
    if len(parts) < SHINGLE_WORDS:
        return frozenset(parts)
    return frozenset(" ".join(parts[place : place + SHINGLE_WORDS]) for place in range(len(parts) - SHINGLE_WORDS + 1))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return how much of two sets is common to both, 0 to 1."""
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0


def overlapping_texts(train: Iterable[Question], held_out: Iterable[Question]) -> list[Overlap]:
    """Return the held-out questions and candidates (of six words and more) that stand in the training data.

    Each held-out question is reported once, by its strongest kind; each candidate text once, at its first place.
    """
    return list(compare_tables(TextTable.of(train), TextTable.of(held_out)))


def compare_tables(train: TextTable, held_out: TextTable, near: NearQuestions | None = None) -> Iterator[Overlap]:
    """Yield the overlaps, questions first; `near`, an index of the training questions, can be made once for many."""
    near = near or NearQuestions(train.questions)
    for place, words in held_out.questions:
        equal = train.by_words.get(words) if words else None
        if equal is not None:
            kind = "question-exact" if place.text in train.question_texts else "question-same"
            yield Overlap(kind, place, equal)
        elif found := near.nearest(words):
            yield Overlap("question-near", place, found[0], found[1])
    for words, place in held_out.candidates.items():
        if words in train.candidates:
            kind = "candidate-exact" if place.text in train.candidate_texts else "candidate-same"
            yield Overlap(kind, place, train.candidates[words])


def without_overlap(
    train: Iterable[Question], held_out: Iterable[Question], *, only_correct: bool = False
) -> tuple[list[Question], Dropped]:
    """Return the training questions that share nothing with the held-out ones, and how much was dropped.

    Dropped are questions that equal a held-out one but for case, punctuation and blanks, or nearly equal one; and
    candidates of six words and more that equal a held-out candidate. `only_correct` compares with correct held-out
    candidates only: InsuranceQA's splits share one pool of answers.
    """
    table = TextTable.of(held_out, only_correct=only_correct)
    near = NearQuestions(table.questions)
    kept: list[Question] = []
    counts: Counter[str] = Counter()
    known: dict[str, bool] = {}
    for question in train:
        words = plain_words(question.text)
        if words in table.by_words:
            counts["equal_questions"] += 1
        elif near.nearest(words):
            counts["near_questions"] += 1
        else:
            left = [each for each in question.candidates if not _is_held_out(each.text, table, known)]
            counts["candidates"] += len(question.candidates) - len(left)
            if _is_emptied(question, left):
                counts["emptied_questions"] += 1
            else:
                is_whole = len(left) == len(question.candidates)
                kept.append(question if is_whole else replace(question, candidates=tuple(left)))
    return kept, Dropped(**counts)


def _is_held_out(text: str, table: TextTable, known: dict[str, bool]) -> bool:
    found = known.get(text)
    if found is None:
        found = known[text] = plain_words(text) in table.candidates
    return found


def _is_emptied(question: Question, left: Sequence[Candidate]) -> bool:
    if not question.candidates:
        return False
    return not left or (question.has_positive and not any(candidate.is_correct for candidate in left))
