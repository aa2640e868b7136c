"""Checks that what a caller gives as text is text."""

from __future__ import annotations

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


def require_unicode(text: object, what: str = "text") -> str:
    """Return the text if it can be written out; a lone surrogate, from broken UTF-8 or JSON, cannot."""
    text = require_text(text, what)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"expected {what} as valid Unicode, got {text[error.start]!a} at {error.start}") from error
    return text
