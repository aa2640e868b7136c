"""Words come in, the character ids that ELMo reads go out.

A word is its UTF-8 bytes between two marks, padded to a fixed length; a sentence stands between two boundary words. All
ids are one higher than in the published numbering, so that 0 is padding of whole words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

MAX_CHARACTERS: Final = 50

# Bytes take 0 to 255.
SENTENCE_START: Final = 256
SENTENCE_END: Final = 257
WORD_START: Final = 258
WORD_END: Final = 259
CHARACTER_PADDING: Final = 260

CharacterIds = npt.NDArray[np.int64]


def word_characters(word: str, *, max_characters: int = MAX_CHARACTERS) -> list[int]:
    """Return a word's character ids, all of one length; bytes that do not fit between the marks are cut.

    >>> word_characters("Hi", max_characters=6)
    [259, 73, 106, 260, 261, 261]
    """
    data = word.encode("utf-8", "ignore")[: max_characters - 2]
    return _padded([WORD_START, *data, WORD_END], max_characters)


def sentence_characters(words: Sequence[str], *, max_characters: int = MAX_CHARACTERS) -> list[list[int]]:
    """Return the character ids of a sentence's words, with the boundary words before and behind."""
    boundaries = [_padded([WORD_START, mark, WORD_END], max_characters) for mark in (SENTENCE_START, SENTENCE_END)]
    inner = [word_characters(word, max_characters=max_characters) for word in words]
    return [boundaries[0], *inner, boundaries[1]]


def batch_characters(sentences: Sequence[Sequence[str]], *, max_characters: int = MAX_CHARACTERS) -> CharacterIds:
    """Return ids (sentences, words + 2, characters) of the longest sentence's length; 0 where a sentence has ended."""
    rows = [sentence_characters(words, max_characters=max_characters) for words in sentences]
    batch = np.zeros((len(rows), max(map(len, rows), default=0), max_characters), dtype=np.int64)
    for index, row in enumerate(rows):
        batch[index, : len(row)] = row
    return batch


def _padded(characters: list[int], max_characters: int) -> list[int]:
    padding = [CHARACTER_PADDING] * (max_characters - len(characters))
    return [character + 1 for character in (*characters, *padding)]
