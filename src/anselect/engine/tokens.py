"""Texts in, token ids out, by a `tokenizer.json` alone; how its family joins two texts to a pair is read off it.

A text that is far too long is not tokenized whole: a start of it that gives enough tokens is, cut at white space, where
every tokenizer of these families begins anew, so that the tokens kept are those of the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from anselect.engine.folder import Manifest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Ids = NDArray[np.int64]

MAX_CHARACTERS: Final = 200_000
"""Of a longer text only so much is ever read, which counts as cutting it."""
CHARACTERS_PER_TOKEN: Final = 16
"""How much text is read at first for each token that is wanted; English has four to five."""
MAX_QUESTION: Final = 20_000
"""Characters of a question that are read; of a longer one its start and its end."""
_HALF: Final = MAX_QUESTION // 2
# The tokenizer's own records take some hundred bytes for each token: many texts are encoded in parts.
CHARACTERS_PER_CALL: Final = 200_000


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's tokens, as many as were wanted and perhaps more."""

    ids: Ids
    is_whole: bool
    """Whether these are all tokens of the text."""


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """What stands before, between and behind the two texts of a pair, with segment ids."""

    before: tuple[Ids, Ids]
    between: tuple[Ids, Ids]
    behind: tuple[Ids, Ids]
    question_segment: int
    candidate_segment: int

    @property
    def specials(self) -> int:
        """How many tokens the template itself takes."""
        return sum(len(part[0]) for part in (self.before, self.between, self.behind))


class TextTokenizer:
    """Encodes single texts; names of special tokens in them are read as text."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        from tokenizers import Tokenizer

        self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.template = _template(self._tokenizer)
        self._tokenizer.encode_special_tokens = True
        self.added = frozenset(token.content for token in self._tokenizer.get_added_tokens_decoder().values())
        self._unknown = manifest.unknown_token
        self._reserved = np.array(manifest.reserved_tokens, dtype=np.int64)

    def encode(self, texts: Sequence[str], *, wanted: int) -> list[Encoded]:
        """Return the first `wanted` tokens or more of each text, all of them where it is short."""
        size = min(wanted * CHARACTERS_PER_TOKEN, MAX_CHARACTERS)
        starts = [_start(text, size) for text in texts]
        found = [
            Encoded(ids, len(start) == len(text))
            for ids, start, text in zip(self._encode(starts), starts, texts, strict=True)
        ]
        for place, encoded in enumerate(found):
            if not encoded.is_whole and len(encoded.ids) < 2 * wanted:
                found[place] = self._encode_further(texts[place], encoded, size, wanted)
        return found

    def encode_ends(self, texts: Sequence[str]) -> list[Encoded]:
        """Return all tokens of each text; of a very long one those of its start and its end."""
        ends = [text if len(text) <= MAX_QUESTION else f"{text[:_HALF]} {text[-_HALF:]}" for text in texts]
        return [Encoded(ids, len(text) <= MAX_QUESTION) for ids, text in zip(self._encode(ends), texts, strict=True)]

    def _encode_further(self, text: str, encoded: Encoded, size: int, wanted: int) -> Encoded:
        # White space and the like may leave too few tokens; twice as many as wanted are enough even for a start that
        # had to be cut within a word.
        while not encoded.is_whole and len(encoded.ids) < 2 * wanted and size < MAX_CHARACTERS:
            size = min(4 * size, MAX_CHARACTERS)
            start = _start(text, size)
            encoded = Encoded(next(self._encode([start])), len(start) == len(text))
        return encoded

    def _encode(self, texts: Sequence[str]) -> Iterator[Ids]:
        for part in _parts(texts):
            for encoding in self._tokenizer.encode_batch_fast(part, add_special_tokens=False):
                ids = np.array(encoding.ids, dtype=np.int64)
                yield np.where(np.isin(ids, self._reserved), self._unknown, ids)


def _start(text: str, size: int) -> str:
    """Cut a text to about `size` characters, at white space where there is some in the second half."""
    if len(text) <= size:
        return text
    for place in range(size, size // 2, -1):
        if text[place].isspace():
            return text[:place]
    return text[:size]


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for text in texts:
        # Half of a surrogate pair, as some JSON files hold, is no valid text for the tokenizer.
        part.append(text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8"))
        size += len(text)
        if size >= CHARACTERS_PER_CALL:
            yield part
            part, size = [], 0
    if part:
        yield part


def _template(tokenizer: Tokenizer) -> PairTemplate:
    encoding = tokenizer.encode("a", "b")
    sides = list(encoding.sequence_ids)
    ids, segments = np.array(encoding.ids, dtype=np.int64), np.array(encoding.type_ids, dtype=np.int64)
    question, candidate = sides.index(0), sides.index(1)
    between, behind = len(sides) - sides[::-1].index(0), len(sides) - sides[::-1].index(1)
    return PairTemplate(
        before=(ids[:question], segments[:question]),
        between=(ids[between:candidate], segments[between:candidate]),
        behind=(ids[behind:], segments[behind:]),
        question_segment=int(segments[question]),
        candidate_segment=int(segments[candidate]),
    )
