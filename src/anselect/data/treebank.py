"""Penn Treebank tokens in, readable text out: `-LRB- he did n't -RRB-` becomes `(he didn't)`.

Written by hand: it is small, and the benchmarks' unbalanced quotes need rules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

BRACKETS: Final = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
OPENING: Final = frozenset("([{")
CLOSING: Final = frozenset([*")]},.;:?!%", "..."])
SENTENCE_MARKS: Final = frozenset([*",.;:?!", "..."])
CLITICS: Final = frozenset(["n't", "'s", "'re", "'ve", "'ll", "'d", "'m"])
SPLIT_WORDS: Final = frozenset(
    [("gon", "na"), ("got", "ta"), ("wan", "na"), ("lem", "me"), ("gim", "me"), ("'t", "is"), ("'t", "was")]
)
SPLIT_STARTS: Final = frozenset(start for start, _ in SPLIT_WORDS)
DOUBLE_QUOTES: Final = frozenset(["``", "''", '"'])
SINGLE_QUOTES: Final = frozenset(["`", "'"])
# `pre- and post-war` keeps its blank, `inch- thick` does not.
AFTER_HANGING_HYPHEN: Final = frozenset(["and", "or", "to", "nor", "but", *CLOSING])
SUFFIX: Final = re.compile(r"-[A-Za-z]\S*")
PREFIX: Final = re.compile(r"-?[A-Za-z][A-Za-z-]*[A-Za-z]-")
CURRENCY: Final = re.compile(r"[A-Za-z]{0,3}\$|[#£€]")
AMOUNT: Final = re.compile(r"\.?\d")
HOUR: Final = re.compile(r"\d\d?")
MINUTE: Final = re.compile(r"\d\d(?!\d)")
SHORT_YEAR: Final = re.compile(r"\d\ds?")


class _Piece(NamedTuple):
    """How a token is written, and whether the blank before and after it goes away."""

    text: str
    joins_left: bool = False
    joins_right: bool = False


def detokenize(text: str) -> str:
    """Turn blank-separated Penn Treebank tokens back into text; `--` keeps its blanks, lower-cased tokens work too.

    >>> detokenize("`` I do n't owe $ 5 -LRB- or 3 % -RRB- , '' said Bell 's wife .")
    '"I don\\'t owe $5 (or 3%)," said Bell\\'s wife.'
    """
    return tokens_to_text(text.split(), detokenize=True)


def tokens_to_text(tokens: Sequence[str], *, detokenize: bool = False) -> str:
    """Join tokens with one blank, or, with `detokenize`, as `detokenize()` does."""
    if not detokenize:
        return " ".join(tokens)
    pieces: list[str] = []
    open_quotes: set[str] = set()
    joined = True
    for place, token in enumerate(tokens):
        # Most tokens are plain words that nothing happens to; this keeps a big file fast.
        is_plain = token.isalnum() and token.lower() not in SPLIT_STARTS
        piece = _Piece(token) if is_plain else _piece(tokens, place, open_quotes)
        pieces.append(piece.text if joined or piece.joins_left else f" {piece.text}")
        joined = piece.joins_right
    return "".join(pieces)


def _piece(tokens: Sequence[str], place: int, open_quotes: set[str]) -> _Piece:
    token = tokens[place]
    if token in DOUBLE_QUOTES:
        return _quote('"', open_quotes, closes=_closes_double(tokens, place, '"' in open_quotes))
    if token in SINGLE_QUOTES:
        return _single_quote(tokens, place, open_quotes)
    text = BRACKETS.get(token.lower(), token).replace("\\/", "/").replace("\\*", "*")
    return _Piece(text, _joins_left(text), _joins_right(text, tokens, place))


def _joins_left(text: str) -> bool:
    return text in CLOSING or text.lower() in CLITICS or SUFFIX.fullmatch(text) is not None


def _joins_right(text: str, tokens: Sequence[str], place: int) -> bool:
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    if CURRENCY.fullmatch(text):
        return AMOUNT.match(following) is not None
    if text == ":" and place > 0:
        return HOUR.fullmatch(tokens[place - 1]) is not None and MINUTE.match(following) is not None
    if PREFIX.fullmatch(text):
        return following[:1].isalnum() and following.lower() not in AFTER_HANGING_HYPHEN
    return text in OPENING or _is_split_word(tokens, place)


def _is_split_word(tokens: Sequence[str], place: int) -> bool:
    """Say whether this token and the next were one word, as in `gon na`."""
    return place + 1 < len(tokens) and (tokens[place].lower(), tokens[place + 1].lower()) in SPLIT_WORDS


def _quote(text: str, open_quotes: set[str], *, closes: bool) -> _Piece:
    if closes:
        open_quotes.discard(text)
        return _Piece(text, joins_left=True)
    open_quotes.add(text)
    return _Piece(text, joins_right=True)


def _closes_double(tokens: Sequence[str], place: int, is_open: bool) -> bool:
    """The benchmarks use ``` `` ``` and `''` for either end, and cut sentences inside quotations."""
    if is_open or tokens[place] != "''" or place == 0:
        return is_open
    return place == len(tokens) - 1 or tokens[place - 1] in SENTENCE_MARKS


def _single_quote(tokens: Sequence[str], place: int, open_quotes: set[str]) -> _Piece:
    token = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    if token == "'" and SHORT_YEAR.fullmatch(following):
        return _Piece(token, joins_right=True)
    if token == "'" and "'" not in open_quotes and place > 0 and _may_own(tokens[place - 1]):
        return _Piece(token, joins_left=True)
    return _quote("'", open_quotes, closes=token == "'" and ("'" in open_quotes or not following))


def _may_own(word: str) -> bool:
    """`the boys ' toys`: a lone apostrophe after s, x or z is a possessive."""
    return word[-1:].lower() in {"s", "x", "z"}
