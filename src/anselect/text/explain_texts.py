"""A question, candidates and text steps in; the texts that a model reads out, with the way back to the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from anselect.errors import AnselectError
from anselect.records import Candidate, Question
from anselect.text.entities import EntityTagger, load_tagger
from anselect.text.entity_types import labels_of
from anselect.text.highlight import ANSWER_TYPE, ORIGINAL, Highlighted, highlight
from anselect.text.steps import NONE, TextSteps


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as a model reads it: highlighted, then lower-cased, or neither."""

    text: str
    highlighted: Highlighted
    """Before lower-casing, which can make a text longer (İ becomes two characters)."""

    @property
    def original(self) -> str:
        """The user's own text."""
        return self.highlighted.original

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the text that the model reads to the user's own; an inserted marker maps to an empty span."""
        if len(self.text) != len(self.highlighted.text):
            places = _sources(self.highlighted.text)
            start, end = places[start], places[end - 1] + 1 if end > start else places[start]
        return self.highlighted.to_original(start, end)


def plain_text(text: str) -> ReadText:
    """Return a text that is read as it stands.

    >>> plain_text("Bell did.").to_original(0, 4)
    (0, 4)
    """
    return ReadText(text, Highlighted(text, text))


def prepare_texts(
    steps: TextSteps, question: str, candidates: Sequence[str], *, tagger: EntityTagger | None = None
) -> tuple[ReadText, list[ReadText]]:
    """Prepare a question and its candidates as in training, keeping the way back.

    `tagger` must be the one that the steps name; by default it is loaded where there is something to highlight.
    """
    record = Question("", question, tuple(Candidate(str(place), text) for place, text in enumerate(candidates)))
    prepared = next(steps.apply([record]))
    asked = ReadText(prepared.text, Highlighted(question, question))
    if steps.highlight == NONE:
        pairs = zip(prepared.candidates, candidates, strict=True)
        return asked, [ReadText(candidate.text, Highlighted(text, text)) for candidate, text in pairs]
    return asked, _highlighted(prepared, steps, tagger)


def _highlighted(prepared: Question, steps: TextSteps, tagger: EntityTagger | None) -> list[ReadText]:
    """Highlight once more, for the edits, and check that the result is what the steps made."""
    coarse_type = prepared.metadata[ANSWER_TYPE]
    originals = [candidate.metadata[ORIGINAL] for candidate in prepared.candidates]
    entities = (tagger or load_tagger(steps.pipeline or None)).tag(originals) if labels_of(coarse_type) else repeat(())
    found = []
    for candidate, original, own in zip(prepared.candidates, originals, entities, strict=False):
        highlighted = highlight(original, own, coarse_type, steps.highlight)
        if highlighted.text.lower() != candidate.text.lower():
            raise AnselectError(f"expected the same entities twice, got others in {original!r}: clear the entity cache")
        found.append(ReadText(candidate.text, highlighted))
    return found


def _sources(text: str) -> list[int]:
    """Return for each character of the lower-cased text, and for its end, the place that it came from."""
    lengths = (repeat(place, len(character.lower())) for place, character in enumerate(text))
    return [*chain.from_iterable(lengths), len(text)]
