"""Token evidence as records: what each word of a candidate does to its score, and why one candidate beats another.

Values are changes of the logit: 0.7 doubles the odds of being correct, -0.7 halves them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """How evidence is found."""

    OCCLUSION = "occlusion"
    """Each word is masked in turn: how much lower is the logit without it?"""
    INTEGRATED_GRADIENTS = "integrated-gradients"
    """Sundararajan et al. 2017: gradients summed on the way from a masked candidate to the real one."""


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """A word of a candidate: `text == candidate[start:end]`."""

    text: str
    start: int
    end: int
    value: float
    """What the word adds to the logit; below 0 where it lowers the score. Exactly 0 for a word that was not read."""
    is_read: bool = True
    """False for a word behind the model's limit."""


@dataclass(frozen=True, slots=True)
class CandidateEvidence:
    """What the words of one candidate do to its score."""

    text: str
    method: Method
    logit: float
    """Its sigmoid is the model's score."""
    masked_logit: float
    """The logit with every word of the candidate masked: what question and length alone give."""
    words: tuple[WordEvidence, ...]
    gap: float | None = None
    """Integrated gradients: sum of all values minus (logit - masked_logit), 0 for an exact integral."""
    steps: int | None = None
    """Integrated gradients: in how many steps the integral was taken."""

    def strongest(self, count: int) -> list[WordEvidence]:
        """Return the words of the largest effect, either way, in falling order; words without any are left out."""
        found = sorted((word for word in self.words if word.value), key=lambda word: -abs(word.value))
        return found[:count]


@dataclass(frozen=True, slots=True)
class WordDifference:
    """What a word makes of the difference between two candidates; a candidate without the word counts 0."""

    text: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """Above 0 where the word speaks for the first candidate."""
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class Comparison:
    """Why one candidate is scored above another."""

    first: int
    """Position of the candidate in the caller's list."""
    second: int
    logit_difference: float
    masked_difference: float
    """The part that remains with all words masked: length alone."""
    words: tuple[WordDifference, ...]
    """Words of both, the one that makes the most difference first; spelled as where they stand first."""

    @property
    def unexplained(self) -> float:
        """What the words and the length leave over: the gaps of integrated gradients, what words do together."""
        return self.logit_difference - self.masked_difference - sum(word.difference for word in self.words)


def compare_evidence(evidence: Sequence[CandidateEvidence], first: int, second: int) -> Comparison:
    """Set the words of two candidates side by side; the same word, in either case, counts once for each."""
    sides = [_by_word(evidence[place].words) for place in (first, second)]
    spelled = {word.text.casefold(): word.text for place in (second, first) for word in reversed(evidence[place].words)}
    words = [
        WordDifference(spelled[key], sides[0].get(key, 0.0), sides[1].get(key, 0.0))
        for key in dict.fromkeys([*sides[0], *sides[1]])
    ]
    return Comparison(
        first,
        second,
        evidence[first].logit - evidence[second].logit,
        evidence[first].masked_logit - evidence[second].masked_logit,
        tuple(sorted(words, key=lambda word: -abs(word.difference))),
    )


def _by_word(words: Iterable[WordEvidence]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for word in words:
        sums[word.text.casefold()] += word.value
    return sums
