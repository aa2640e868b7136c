"""A question and candidates in; the expected answer type, the entities of each candidate and what matches out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from anselect.errors import UsageError
from anselect.records import Entity, Ranking
from anselect.text.entities import EntityTagger, load_tagger
from anselect.text.entity_types import answer_type_of, labels_of
from anselect.text.explain_evidence import CandidateEvidence, Comparison, compare_evidence
from anselect.text.highlight import Way, highlight, parse_way
from anselect.text.texts import each_text, require_unicode


class DetectedType(Protocol):
    """What a detector of answer types says of a question."""

    @property
    def coarse(self) -> str:
        """One of ABBR DESC ENTY HUM LOC NUM."""

    @property
    def fine(self) -> str:
        """One of the fifty fine types."""

    @property
    def confidence(self) -> float:
        """The probability of the coarse type."""


Detector = Callable[[str], DetectedType]

_OF_A_MODEL: Final = ("model", "comparison", "score", "rank", "evidence")


@dataclass(frozen=True, slots=True)
class ExplainedEntity:
    """An entity of a candidate: `text == candidate[start:end]`."""

    text: str
    label: str
    answer_type: str | None
    """The coarse answer type of the label; None for a label outside BAS's table."""
    start: int
    end: int
    matches: bool
    """It is of the type that the question asks for."""


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A candidate with its entities."""

    text: str
    highlighted: str
    """With a model the text that it reads, highlighted in its own way or not at all."""
    entities: tuple[ExplainedEntity, ...]
    score: float | None = None
    """The model's score; None without a model."""
    rank: int | None = None
    """Place in the model's ranking, from 1."""
    evidence: CandidateEvidence | None = None
    """What its words do to the score; None where nobody asked."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a question asks for, and where its candidates have such a thing."""

    question: str
    answer_type: str
    answer_type_fine: str
    confidence: float
    candidates: tuple[ExplainedCandidate, ...]
    model: str | None = None
    """One line on the model that scored the candidates; None without one."""
    comparison: Comparison | None = None
    """Why the first of the ranking stands above the second; None without evidence."""

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON has it, without a model's part where none was asked; the names are public."""
        left_out = _OF_A_MODEL if self.model is None else ()

        def kept(items: list[tuple[str, Any]]) -> dict[str, Any]:
            return {name: value for name, value in items if value is not None or name not in left_out}

        return asdict(self, dict_factory=kept)


def explain(
    question: str,
    candidates: Sequence[str],
    *,
    tagger: EntityTagger | None = None,
    detector: Detector | None = None,
    way: Way | str = Way.REPLACE,
) -> Explanation:
    """Explain a question and its candidates; without candidates only the answer type is found, and spaCy not needed.

    Raises UsageError for an empty question and for anything that is not text.
    """
    way = parse_way(way)
    question = require_unicode(question, "the question")
    if not question.strip():
        raise UsageError("expected a question, got an empty text")
    listed = enumerate(each_text(candidates, "candidate"))
    texts = [require_unicode(text, f"candidate {place}") for place, text in listed]
    found = (detector or _default_detector())(question)
    tagged = (tagger or load_tagger()).tag(texts) if texts else ()
    explained = [
        _explain_candidate(text, entities, found.coarse, way) for text, entities in zip(texts, tagged, strict=True)
    ]
    return Explanation(question, found.coarse, found.fine, float(found.confidence), tuple(explained))


def add_ranking(explanation: Explanation, ranking: Ranking, *, model: str) -> Explanation:
    """Put a model's score and rank beside each candidate, whose order stays; `ranking` must hold every candidate."""
    found = {place.index: (place.score, rank) for rank, place in enumerate(ranking, start=1)}
    if sorted(found) != list(range(len(explanation.candidates))):
        raise UsageError(f"expected a ranking of all {len(explanation.candidates)} candidates, got {len(found)}")
    scored = (
        replace(candidate, score=found[index][0], rank=found[index][1])
        for index, candidate in enumerate(explanation.candidates)
    )
    return replace(explanation, candidates=tuple(scored), model=model)


def replace_read_texts(explanation: Explanation, texts: Sequence[str]) -> Explanation:
    """Show each candidate as a certain model reads it, which may highlight in another way than asked for, or not."""
    pairs = zip(explanation.candidates, texts, strict=True)
    return replace(explanation, candidates=tuple(replace(candidate, highlighted=text) for candidate, text in pairs))


def add_evidence(explanation: Explanation, evidence: Sequence[CandidateEvidence]) -> Explanation:
    """Put evidence beside each candidate, and say why the best is scored above the next, where there are two."""
    candidates = tuple(
        replace(candidate, evidence=own) for candidate, own in zip(explanation.candidates, evidence, strict=True)
    )
    best = sorted(range(len(evidence)), key=lambda place: -evidence[place].logit)[:2]
    comparison = compare_evidence(evidence, *best) if len(best) == 2 else None
    return replace(explanation, candidates=candidates, comparison=comparison)


def _explain_candidate(text: str, entities: Sequence[Entity], coarse_type: str, way: Way) -> ExplainedCandidate:
    labels = labels_of(coarse_type)
    explained = tuple(
        ExplainedEntity(
            entity.text, entity.label, answer_type_of(entity.label), entity.start, entity.end, entity.label in labels
        )
        for entity in entities
    )
    return ExplainedCandidate(text, highlight(text, entities, coarse_type, way).text, explained)


def _default_detector() -> Detector:
    # Imported late: the model is read from disk.
    from anselect.text.answer_type import detect_answer_type

    return detect_answer_type
