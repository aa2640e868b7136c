"""A text and its tokenizer in, words out, each with its place in the user's own text and the tokens it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from transformers import PreTrainedTokenizerBase

from anselect.modeling.pair_tokens import text_tokens
from anselect.modeling.words import split_words
from anselect.text.explain_texts import ReadText
from anselect.text.highlight import END_MARKER

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WordUnit:
    """A word of the user's own text: `text == original[start:end]`."""

    text: str
    start: int
    end: int
    tokens: Tokens
    """Places among the tokens of what the model reads; markers around an entity count to its outer words."""


Splitter = Callable[[ReadText], list[WordUnit]]
"""Splits a text into words, with the tokens of one source of vectors."""


def word_units(tokenizer: PreTrainedTokenizerBase, read: ReadText) -> list[WordUnit]:
    """Join a text's pieces to words. What the model reads for a replaced entity is one word: the entity."""
    text_tokens(tokenizer, [read.text])  # sets the tokenizer to read names of special tokens as text
    encoding = tokenizer.backend_tokenizer.encode(read.text, add_special_tokens=False)
    groups: list[_Group] = []
    for place, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
        if groups and word is not None and groups[-1].word == word:
            last = groups[-1]
            groups[-1] = _Group(word, min(last.start, start), max(last.end, end), (*last.tokens, place))
        else:
            groups.append(_Group(word, start, end, (place,)))
    return _join(groups, read)


def vector_units(read: ReadText) -> list[WordUnit]:
    """Split a text as GloVe and ELMo read it, one vector a word."""
    groups, done = [], 0
    text = read.text.replace("’", "'")
    for place, word in enumerate(split_words(read.text)):
        start = text.index(word, done)
        done = start + len(word)
        groups.append(_Group(place, start, done, (place,)))
    return _join(groups, read)


@dataclass(frozen=True, slots=True)
class _Group:
    word: int | None
    start: int
    end: int
    tokens: Tokens


def _join(groups: list[_Group], read: ReadText) -> list[WordUnit]:
    """Map groups of tokens to the user's text, and join those that share a place or have none of their own."""
    units: list[WordUnit] = []
    waiting: Tokens = ()
    for start, end, tokens, is_closing in _places(groups, read):
        if units and (start < units[-1].end or (start == end and is_closing)):
            units[-1] = _grown(units[-1], end, tokens, read)
        elif start == end:
            waiting += tokens  # an opening marker, or a piece that stands for a blank: counts to the word after it
        else:
            units.append(WordUnit(read.original[start:end], start, end, (*waiting, *tokens)))
            waiting = ()
    if waiting and units:
        units[-1] = _grown(units[-1], units[-1].end, waiting, read)
    return units


def _places(groups: list[_Group], read: ReadText) -> Iterator[tuple[int, int, Tokens, bool]]:
    for group in groups:
        shown = read.text[group.start : group.end]
        # Byte-level tokenizers count the blank before a word to the word.
        start = group.start + len(shown) - len(shown.lstrip())
        end = max(start, group.start + len(shown.rstrip()))
        yield *read.to_original(start, end), group.tokens, shown.strip() == END_MARKER


def _grown(unit: WordUnit, end: int, tokens: Tokens, read: ReadText) -> WordUnit:
    end = max(unit.end, end)
    return replace(unit, text=read.original[unit.start : end], end=end, tokens=(*unit.tokens, *tokens))
