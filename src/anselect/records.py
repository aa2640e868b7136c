"""The frozen records that every part of Anselect passes on; no behaviour beyond simple look-ups.

Words, one per idea: a *question* has *candidates*; a candidate has a *label* (1 correct, 0 not, None unknown);
a ranker gives each candidate a *score* (higher is better); a *ranking* is the candidates ordered by score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate answer, as it stands in its source."""

    id: str
    """Unique within its question, not beyond it (WikiQA repeats sentence ids over questions)."""
    text: str
    label: int | None = None
    """1 correct, 0 not correct, None not known."""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What else the source says of it, by name: `label_raw`, `answer`, `answer_positions`, `pos`, …"""

    @property
    def is_correct(self) -> bool:
        return self.label == 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its candidates, in the order of the source."""

    id: str
    text: str
    candidates: tuple[Candidate, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What else the source says of it, by name: `category`, `document_title`, `pos`, …"""

    @property
    def positives(self) -> int:
        """How many candidates are correct."""
        return sum(candidate.is_correct for candidate in self.candidates)

    @property
    def has_positive(self) -> bool:
        return any(candidate.is_correct for candidate in self.candidates)

    @property
    def has_negative(self) -> bool:
        return any(candidate.label == 0 for candidate in self.candidates)


@dataclass(frozen=True, slots=True)
class Entity:
    """A named entity in a text: `text == source[start:end]`."""

    text: str
    label: str
    """The tagger's own label, such as `PERSON`."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ScoredQuestions:
    """What a ranker gives to questions: one list of scores per question, one score per candidate, in their order."""

    scores: list[list[float]]
    cut_candidates: int = 0
    """How many candidates were longer than the ranker reads and were cut."""
    max_tokens: int | None = None
    """The ranker's limit, in its own tokens; None for a ranker that reads texts of any length."""

    @classmethod
    def from_flat(
        cls, questions: Sequence[Question], scores: Iterable[float], cut_candidates: int = 0
    ) -> ScoredQuestions:
        """Deal scores, one for each candidate of question after question, out to the questions."""
        flat = iter(scores)
        return cls([[next(flat) for _ in question.candidates] for question in questions], cut_candidates)


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """One place in a ranking."""

    index: int
    """Position in the list that the caller gave."""
    text: str
    score: float
    id: str | None = None
    """The caller's id for this candidate, where there was one."""


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[ScoredCandidate]):
    """The candidates of one question, best first; equal scores keep the caller's order."""

    question: str
    candidates: tuple[ScoredCandidate, ...]
    cut_candidates: int = 0
    """How many of the caller's candidates, shown here or not, the ranker read only in part."""
    max_tokens: int | None = None
    """The ranker's limit, in its own tokens; None where there is none."""

    def best(self, min_score: float = 0.0) -> ScoredCandidate | None:
        """Return the best candidate, or None where none scores `min_score`: none of these answers the question.

        >>> Ranking("Who?", (ScoredCandidate(0, "Bell.", 0.3),)).best(min_score=0.5) is None
        True
        """
        return next((candidate for candidate in self.candidates[:1] if candidate.score >= min_score), None)

    @overload
    def __getitem__(self, place: int) -> ScoredCandidate: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[ScoredCandidate, ...]: ...

    def __getitem__(self, place: int | slice) -> ScoredCandidate | tuple[ScoredCandidate, ...]:
        return self.candidates[place]

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[ScoredCandidate]:
        return iter(self.candidates)
