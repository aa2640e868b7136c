"""A candidate, its entities and the expected answer type in; the text that the model reads out, with the way back.

Section 3-1-2 of BAS (after Tayyar Madabushi 2018 and Kamath 2019). ABBR and DESC highlight nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from anselect.errors import UsageError
from anselect.records import Candidate, Entity, Question
from anselect.text.entities import EntityTagger
from anselect.text.entity_types import ALL_LABELS, labels_of
from anselect.text.texts import require_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Way(StrEnum):
    """How an entity of the expected type is shown to the model."""

    REPLACE = "replace"
    """BAS: it becomes SPECIAL_TOKEN, whatever its own label."""
    REPLACE_TYPED = "replace-typed"
    """Kamath 2019: it becomes a token that names its own label, such as PERSON_TOKEN."""
    MARK = "mark"
    """It stays and is wrapped in two markers, so that the model loses nothing."""


SPECIAL_TOKEN: Final = "SPECIAL_TOKEN"
START_MARKER: Final = "[ENTITY]"
END_MARKER: Final = "[/ENTITY]"
_QUESTIONS_PER_STEP: Final = 1_000

_TOKENS: Final[dict[Way, tuple[str, ...]]] = {
    Way.REPLACE: (SPECIAL_TOKEN,),
    Way.REPLACE_TYPED: tuple(f"{label}_TOKEN" for label in ALL_LABELS),
    Way.MARK: (START_MARKER, END_MARKER),
}
_LITERALS: Final = {way: re.compile("|".join(map(re.escape, tokens))) for way, tokens in _TOKENS.items()}

# Names in the metadata of highlighted records.
ORIGINAL: Final = "original"
ANSWER_TYPE: Final = "answer_type"
HIGHLIGHT: Final = "highlight"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: `removed` stood at `start` of the original, `inserted` stands at `new_start` of the new text."""

    start: int
    removed: str
    new_start: int
    inserted: str

    @property
    def end(self) -> int:
        return self.start + len(self.removed)

    @property
    def new_end(self) -> int:
        return self.new_start + len(self.inserted)


@dataclass(frozen=True, slots=True)
class Highlighted:
    """A highlighted text with the way back to the user's own words."""

    text: str
    original: str
    edits: tuple[Edit, ...] = ()
    """In the order of the text, never overlapping."""

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the highlighted text to the original; touching a replacement covers all of it."""
        if not 0 <= start <= end <= len(self.text):
            raise UsageError(f"expected a span within 0 to {len(self.text)}, got {start} to {end}")
        return self._start_to_original(start), self._end_to_original(end)

    def undo(self) -> str:
        """Rebuild the original from the highlighted text and the edits."""
        pieces = []
        done = 0
        for edit in self.edits:
            pieces += [self.text[done : edit.new_start], edit.removed]
            done = edit.new_end
        return "".join([*pieces, self.text[done:]])

    def _start_to_original(self, place: int) -> int:
        index = bisect_right(self.edits, place, key=lambda edit: edit.new_start)
        if not index:
            return place
        edit = self.edits[index - 1]
        return edit.start if place < edit.new_end else edit.end + place - edit.new_end

    def _end_to_original(self, place: int) -> int:
        index = bisect_left(self.edits, place, key=lambda edit: edit.new_start)
        if not index:
            return place
        edit = self.edits[index - 1]
        return edit.end if place <= edit.new_end else edit.end + place - edit.new_end


def parse_way(way: Way | str) -> Way:
    """Return the way of this name; raise UsageError for an unknown one."""
    if way not in set(Way):
        raise UsageError(f"expected a way to highlight of {', '.join(Way)}, got {way!r}")
    return Way(way)


def special_tokens(way: Way | str) -> tuple[str, ...]:
    """Return the tokens that this way of highlighting adds to a tokenizer.

    >>> special_tokens("replace"), special_tokens("mark"), len(special_tokens("replace-typed"))
    (('SPECIAL_TOKEN',), ('[ENTITY]', '[/ENTITY]'), 18)
    """
    return _TOKENS[parse_way(way)]


def highlight(text: str, entities: Iterable[Entity], coarse_type: str, way: Way | str = Way.REPLACE) -> Highlighted:
    """Highlight the entities of the expected type; of overlapping ones the first, then the longest, counts.

    A special token that the text spells out itself is written in lower case, so that no candidate can pass for
    highlighted; `undo` restores that too.

    >>> bell = Entity("Bell", "PERSON", 0, 4)
    >>> highlight("Bell did, in 1876.", [bell], "HUM").text
    'SPECIAL_TOKEN did, in 1876.'
    >>> highlight("Bell did, in 1876.", [bell], "HUM", "mark").text
    '[ENTITY] Bell [/ENTITY] did, in 1876.'
    """
    way, text = parse_way(way), require_text(text, "what to highlight")
    wanted = _first_of_overlapping(_of_labels(text, entities, labels_of(coarse_type)))
    changes = [change for entity in wanted for change in _changes(entity, way)]
    changes = sorted([*changes, *_spelled_out(text, changes, way)], key=lambda change: change[0])
    return _apply(text, changes)


def highlight_question(
    question: Question, coarse_type: str, tagger: EntityTagger, way: Way | str = Way.REPLACE
) -> Question:
    """Highlight every candidate of a question; see `highlight_questions`."""
    return next(highlight_questions([(question, coarse_type)], tagger, way))


def highlight_questions(
    typed: Iterable[tuple[Question, str]], tagger: EntityTagger, way: Way | str = Way.REPLACE
) -> Iterator[Question]:
    """Highlight the candidates of many questions, each with its coarse answer type, tagging many at once.

    A candidate keeps its own words in `metadata["original"]`; a question says in its metadata `answer_type` and
    `highlight` what was done. Candidates of ABBR and DESC questions are not even tagged.
    """
    way = parse_way(way)
    stream = iter(typed)
    while step := list(islice(stream, _QUESTIONS_PER_STEP)):
        for question, _ in step:
            _require_texts(question)
        texts = (
            candidate.text
            for question, coarse_type in step
            for candidate in (question.candidates if labels_of(coarse_type) else ())
        )
        tagged = tagger.tag(texts)
        for question, coarse_type in step:
            yield _highlight_one(question, coarse_type, tagged, way)


def add_special_tokens(tokenizer: PreTrainedTokenizerBase, way: Way | str) -> int:
    """Add this way's tokens to a Hugging Face tokenizer, each as one piece; return how many were new.

    The caller must grow the model's embedding matrix by that many rows.
    """
    from tokenizers import AddedToken

    tokens = special_tokens(way)
    # Matched in the text as it is, before lower-casing or splitting. Not "special" ones in the tokenizer's sense:
    # names of those in a text ("[SEP]") are read as plain text, so that no candidate can forge a pair's structure.
    added = [AddedToken(token, special=False, normalized=False) for token in tokens]
    count = tokenizer.add_tokens(added)
    for token in tokens:
        pieces = tokenizer.tokenize(f"a {token}.")
        if token not in pieces:
            raise UsageError(f"expected a tokenizer that keeps {token} whole, it made {pieces} of it")
    return count


Change = tuple[int, str, str]
"""Start in the original, what stands there, what stands there afterwards."""


def _of_labels(text: str, entities: Iterable[Entity], labels: Sequence[str]) -> Iterator[Entity]:
    for entity in entities:
        if not entity.text or text[entity.start : entity.end] != entity.text:
            raise UsageError(f"expected entities of this text, got {entity.text!r} at {entity.start} to {entity.end}")
        if entity.label in labels:
            yield entity


def _first_of_overlapping(entities: Iterable[Entity]) -> Iterator[Entity]:
    end = 0
    for entity in sorted(entities, key=lambda entity: (entity.start, -entity.end)):
        if entity.start >= end:
            yield entity
            end = entity.end


def _changes(entity: Entity, way: Way) -> list[Change]:
    if way is Way.MARK:
        # The blanks keep the words as they were for tokenizers that count a blank to the word after it.
        return [(entity.start, "", f"{START_MARKER} "), (entity.end, "", f" {END_MARKER}")]
    token = SPECIAL_TOKEN if way is Way.REPLACE else f"{entity.label}_TOKEN"
    return [(entity.start, entity.text, token)]


def _spelled_out(text: str, changes: Sequence[Change], way: Way) -> Iterator[Change]:
    """Find special tokens that stand in the user's own text, outside of what is replaced anyway."""
    starts = [0, *(start + len(removed) for start, removed, _ in changes)]
    ends = [*(start for start, _, _ in changes), len(text)]
    for start, end in zip(starts, ends, strict=True):
        for match in _LITERALS[way].finditer(text, start, end):
            yield match.start(), match.group(), match.group().lower()


def _apply(text: str, changes: Iterable[Change]) -> Highlighted:
    pieces: list[str] = []
    edits = []
    done = length = 0
    for start, removed, inserted in changes:
        pieces += [text[done:start], inserted]
        length += start - done
        edits.append(Edit(start, removed, length, inserted))
        length += len(inserted)
        done = start + len(removed)
    return Highlighted("".join([*pieces, text[done:]]), text, tuple(edits))


def _require_texts(question: Question) -> None:
    for candidate in question.candidates:
        require_text(candidate.text, f"candidate {candidate.id} of question {question.id}")


def _highlight_one(question: Question, coarse_type: str, tagged: Iterator[tuple[Entity, ...]], way: Way) -> Question:
    if HIGHLIGHT in question.metadata:
        raise UsageError(f"question {question.id} is highlighted already ({question.metadata[HIGHLIGHT]})")
    has_entities = bool(labels_of(coarse_type))
    candidates = []
    for candidate in question.candidates:
        found = highlight(candidate.text, next(tagged) if has_entities else (), coarse_type, way)
        candidates.append(_with_text(candidate, found))
    metadata = {**question.metadata, ANSWER_TYPE: coarse_type, HIGHLIGHT: way.value}
    return replace(question, candidates=tuple(candidates), metadata=metadata)


def _with_text(candidate: Candidate, found: Highlighted) -> Candidate:
    metadata = {**candidate.metadata, ORIGINAL: found.original}
    return replace(candidate, text=found.text, metadata=metadata)
