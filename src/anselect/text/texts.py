"""Checks that what a caller gives as text is text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anselect.errors import UsageError


def require_text(text: object, what: str = "text") -> str:
    """Return the text; raise UsageError for None, bytes and anything else.

    >>> require_text(b"Bell", "candidate 3")
    Traceback (most recent call last):
    anselect.errors.UsageError: expected candidate 3 as text, got bytes: decode them first
    """
    if isinstance(text, str):
        return text
    advice = ": decode them first" if isinstance(text, bytes) else ""
    raise UsageError(f"expected {what} as text, got {type(text).__name__}{advice}")


def each_text(texts: object, what: str = "text") -> Iterator[str]:
    """Yield texts as they come; raise UsageError for what is no list of texts, naming the one that is wrong."""
    # A lone text is a list of texts to Python, one per letter: never what is meant.
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        advice = ": put it into a list" if isinstance(texts, str) else ""
        raise UsageError(f"expected a list of {what}s, got {type(texts).__name__}{advice}")
    for place, text in enumerate(texts):
        yield text if isinstance(text, str) else require_text(text, f"{what} {place}")


def require_unicode(text: object, what: str = "text") -> str:
    """Return the text if it can be written out; a lone surrogate, from broken UTF-8 or JSON, cannot."""
    text = require_text(text, what)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"expected {what} as valid Unicode, got {text[error.start]!a} at {error.start}") from error
    return text
