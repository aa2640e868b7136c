"""A text in, the places of its sentences out: rules only, exact offsets, nothing to download.

Written here because the core has no sentence splitter: spaCy's is an extra of 50 MB and its rules need its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from anselect.data.sentence_stops import CLOSERS, LOOK_BACK, Mark, ends_sentence

WRAPPED_LINE: Final = 50
"""A line of so many characters that ends without a mark goes on in the next one: the text was wrapped."""
QUOTE_WINDOW: Final = 2_000
"""How far back quotes are counted to tell a closing one from an opening one."""

_SMILEY: Final = r"(?:\s?[:;=]-?[()DP]+(?=\s|$))?"
_FOOTNOTE: Final = r"\[\d{1,3}\]|\[citation needed\]"
_BORDER: Final = re.compile(rf"(?P<lines>\n\s*)|[.!?…。！？]+(?:[{re.escape(CLOSERS)}]|{_FOOTNOTE})*{_SMILEY}")
_BLANK: Final = re.compile(r"\s*")
_ITEM: Final = re.compile(r"(?:[-–—*•·‣▪◦]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_LINE_END: Final = re.compile(rf"[.!?…:;。！？][{re.escape(CLOSERS)}]*\s*$")
_DETACHED: Final = re.compile(r"(?:\"|''|”|’|\)|\]|»|-RRB-)(?=\s|$)")
_LETTER: Final = re.compile(r"[^\W_]")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence, in order; every character that is not blank is in exactly one.

    A line that ends without a mark goes on in the next one if that begins in lower case or the line is long.

    >>> text = "Dr. Bell rang at 5 p.m. He was glad."
    >>> [text[start:end] for start, end in split_sentences(text)]
    ['Dr. Bell rang at 5 p.m.', 'He was glad.']
    """
    spans: list[tuple[int, int]] = []
    start = _skip_blank(text, 0)
    for end in _ends(text):
        if end <= start:
            continue
        piece = text[start:end].rstrip()
        if spans and not _LETTER.search(piece) and "\n" not in text[spans[-1][1] : start]:
            spans[-1] = (spans[-1][0], start + len(piece))
        elif piece:
            spans.append((start, start + len(piece)))
        start = _skip_blank(text, end)
    return spans


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end, before the white space that follows, and the end of the text."""
    start = line = 0
    for found in _BORDER.finditer(text):
        if found["lines"] is not None:
            if _ends_line(text, line, found.start(), found.end(), found["lines"]):
                yield found.start()
                start = found.end()
            line = found.end()
            continue
        resume = _skip_blank(text, found.end())
        start = _skip_blank(text, start)
        if ends_sentence(Mark(text, start, found.start(), found.end(), resume)):
            end = _detached_end(text, start, found.end(), resume)
            yield end
            start = end
    yield len(text)


def _ends_line(text: str, line: int, end: int, following: int, blank: str) -> bool:
    """Say whether a line break ends a sentence: blank lines, list items, headings do, wrapped lines do not."""
    if blank.count("\n") > 1 or following >= len(text) or _ITEM.match(text, following):
        return True
    if _LINE_END.search(text[max(line, end - LOOK_BACK) : end]):
        return not text[following].islower()
    return not (text[following].islower() or end - line >= WRAPPED_LINE)


def _detached_end(text: str, start: int, end: int, resume: int) -> int:
    """Take a closing quote or bracket along that stands apart, as in tokenised text."""
    found = _DETACHED.match(text, resume)
    if found is None or "\n" in text[end:resume]:
        return end
    if found[0] == '"' and text.count('"', max(start, end - QUOTE_WINDOW), end) % 2 == 0:
        return end
    return found.end()


def _skip_blank(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place
