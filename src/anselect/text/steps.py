"""What happens to questions before a ranker reads them: one object that training saves and serving repeats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import tee

from anselect.records import Question
from anselect.text.answer_type import detect_answer_types
from anselect.text.entities import EntityTagger, load_tagger
from anselect.text.highlight import highlight_questions, special_tokens

NONE = "none"


@dataclass(frozen=True, slots=True)
class TextSteps:
    """Highlighting and lower-casing, by name; the default does nothing."""

    highlight: str = NONE
    pipeline: str = ""
    """The tagger that highlighting uses, by the name of its spaCy pipeline."""
    lower_case: bool = False

    def apply(self, questions: Iterable[Question]) -> Iterator[Question]:
        """Prepare questions one after the other; ids, labels and order stay."""
        if self.highlight != NONE:
            asked, kept = tee(questions)
            types = (found.coarse for found in detect_answer_types(question.text for question in asked))
            tagger = _tagger(self.pipeline)
            questions = highlight_questions(zip(kept, types, strict=True), tagger, self.highlight)
        if self.lower_case:
            lower = _lower(special_tokens(self.highlight) if self.highlight != NONE else ())
            questions = (_with_texts(question, lower) for question in questions)
        yield from questions

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that the ranker's tokenizer must keep whole."""
        return special_tokens(self.highlight) if self.highlight != NONE else ()


@lru_cache(maxsize=4)
def _tagger(pipeline: str) -> EntityTagger:
    return load_tagger(pipeline or None)


def _lower(keep: tuple[str, ...]) -> Callable[[str], str]:
    if not keep:
        return str.lower
    pattern = re.compile("(" + "|".join(map(re.escape, keep)) + ")")
    return lambda text: "".join(part if part in keep else part.lower() for part in pattern.split(text))


def _with_texts(question: Question, change: Callable[[str], str]) -> Question:
    candidates = (replace(candidate, text=change(candidate.text)) for candidate in question.candidates)
    return replace(question, text=change(question.text), candidates=tuple(candidates))
