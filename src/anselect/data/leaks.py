"""Ids and texts that come twice: within a file a repeat, from one file to the next a leak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from anselect.data.finding import Finding, candidate_finding, on_line, question_finding
from anselect.data.located import LocatedQuestion

# File, line, id: put into words only where there is something to say of it.
_Place = tuple[str, int | None, str]


@dataclass(slots=True)
class SeenTexts:
    """Remembers ids and texts of the file at hand, and the texts of the files before it."""

    ids: dict[str, int | None] = field(default_factory=dict)
    questions: dict[bytes, _Place] = field(default_factory=dict)
    pairs: dict[bytes, _Place] = field(default_factory=dict)
    earlier_questions: dict[bytes, _Place] = field(default_factory=dict)
    earlier_pairs: dict[bytes, _Place] = field(default_factory=dict)

    def check(self, item: LocatedQuestion, file: str) -> Iterator[Finding]:
        """Yield what this question has in common with those before, and remember it."""
        yield from self._check_id(item, file)
        yield from self._check_question(item, file)
        yield from self._check_pairs(item, file)

    def end_file(self) -> None:
        """Count what this file had as known from now on."""
        for earlier, current in ((self.earlier_questions, self.questions), (self.earlier_pairs, self.pairs)):
            for key, place in current.items():
                earlier.setdefault(key, place)
            current.clear()
        self.ids.clear()

    def _check_id(self, item: LocatedQuestion, file: str) -> Iterator[Finding]:
        question_id = item.question.id
        if question_id in self.ids:
            message = f"the id is that of another question{on_line(self.ids[question_id])}"
            yield question_finding("duplicate-question-id", item, file, message)
        self.ids.setdefault(question_id, item.line)

    def _check_question(self, item: LocatedQuestion, file: str) -> Iterator[Finding]:
        key = fingerprint(item.question.text)
        if key in self.questions:
            yield question_finding(
                "duplicate-question", item, file, f"repeats the question of {_named(self.questions[key])}"
            )
        elif key in self.earlier_questions:
            yield question_finding("leaked-question", item, file, f"also in {_named(self.earlier_questions[key])}")
        self.questions.setdefault(key, (file, item.line, item.question.id))

    def _check_pairs(self, item: LocatedQuestion, file: str) -> Iterator[Finding]:
        question = fingerprint(item.question.text)
        for place, candidate in enumerate(item.question.candidates):
            key = fingerprint(candidate.text, question)
            if key not in self.pairs and key in self.earlier_pairs:
                message = f"question and candidate also in {_named(self.earlier_pairs[key])}"
                yield candidate_finding("leaked-pair", item, place, file, message)
            self.pairs.setdefault(key, (file, item.candidate_line(place), candidate.id))


def plain(text: str) -> str:
    """Return the text without case and with each run of white space as one blank: what counts as the same text.

    >>> plain(" A  b\\n")
    'a b'
    """
    return " ".join(text.casefold().split())


def fingerprint(text: str, key: bytes = b"") -> bytes:
    """Return 16 bytes that are the same for the same text under the same key."""
    return blake2b(plain(text).encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()


def _named(place: _Place) -> str:
    file, line, record_id = place
    return f"{file} ({record_id})" if line is None else f"{file}:{line}"
