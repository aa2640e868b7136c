"""Texts as lists of words, and BM25 (by the bm25s library) over the candidates of one question or of a whole file.

No stop words are dropped and nothing is stemmed: that needs no language to be known, a question made of stop words
still ranks, and the inverse document frequency already gives words that stand everywhere next to no weight.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anselect.errors import MissingExtraError

# Thai, Lao, Myanmar, Khmer, kana and Han set no blanks between words: each of their letters is a word of its own.
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"

ASCII_WORD: Final = re.compile("[a-z0-9]+")

BM25Scores = Mapping[str, NDArray[Any]]
"""The score of each word in each candidate, as bm25s keeps it: a sparse matrix by columns, one column per word."""


def split_words(text: str) -> list[str]:
    """Split a text into its words: casefolded runs of letters, digits and the marks on them, in order.

    Example:
    >>> split_words("The CAFÉ_de-Flore's 2nd room")
    ['the', 'café', 'de', 'flore', 's', '2nd', 'room']
    """
    if text.isascii():  # ten times as fast, and most texts are
        return ASCII_WORD.findall(text.lower())
    return _word_pattern().findall(unicodedata.normalize("NFKC", text).casefold())


def score_groups(
    questions: Sequence[Sequence[str]], candidates: Sequence[Sequence[Sequence[str]]]
) -> list[list[float]]:
    """Return the BM25 score of each candidate for its own question, all candidates together being the collection.

    Everything is given as words: one list per question, and per question one list per candidate. BM25 as Lucene has
    it, with k1 = 1.5 and b = 0.75 (the defaults of bm25s); a word that the question repeats counts as often. Where no
    word is shared the score is 0. Raises MissingExtraError without bm25s.
    """
    bm25s = _import_bm25s()
    sizes = [len(group) for group in candidates]
    vocabulary = _number_words(words for group in candidates for words in group)
    if not vocabulary:
        return [[0.0] * size for size in sizes]
    numbers = [[vocabulary[word] for word in words] for group in candidates for words in group]
    # In float64, so that two candidates tie only when they should.
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene", dtype="float64")
    index.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    return [
        _score_own([vocabulary[word] for word in words if word in vocabulary], index.scores, stop - size, stop)
        for words, stop, size in zip(questions, np.cumsum(sizes), sizes, strict=True)
    ]


def _score_own(words: Sequence[int], scores: BM25Scores, start: int, stop: int) -> list[float]:
    """Add up the index's scores of the question's words over its own candidates, which are rows start to stop.

    `BM25.get_scores` adds up the whole collection for each question, which takes hours on a million candidates. The
    index keeps its scores by word, the rows of a word in rising order, so that its own rows are found by bisection.
    """
    rows, values, columns = scores["indices"], scores["data"], scores["indptr"]
    totals = np.zeros(stop - start)
    for word in words:
        first, last = columns[word], columns[word + 1]
        low, high = first + np.searchsorted(rows[first:last], (start, stop))
        totals[rows[low:high] - start] += values[low:high]
    return [float(total) for total in totals]


def _number_words(texts: Iterable[Iterable[str]]) -> dict[str, int]:
    """Number the distinct words in the order in which they come up."""
    return {word: number for number, word in enumerate(dict.fromkeys(word for text in texts for word in text))}


@cache
def _word_pattern() -> re.Pattern[str]:
    """Build the pattern of a word; `\\w` alone would cut Hindi or Arabic words at each vowel sign, which is a mark."""
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))
    return re.compile(rf"[{UNSPACED}](?<=\w)[{marks}]*|(?:(?![{UNSPACED}])(?:[^\W_]|[{marks}]))+")


def _import_bm25s() -> ModuleType:
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtraError("ask", "bm25s") from error
    # It sets its own logger to DEBUG, which floods every program that logs at all: one line per index.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s  # type: ignore[no-any-return]
