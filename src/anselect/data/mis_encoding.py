"""Signs in a text that its bytes were once read in the wrong encoding, and remains of HTML."""

from __future__ import annotations

import html
import re
from typing import Final

# What the bytes 0x80 to 0xBF of UTF-8 become when they are read as Windows-1252; read as Latin-1, the first half are
# control characters, which are wrong in any case. Quotes, dashes and dots also follow a letter in sound texts (CAFÉ”…).
_QUOTES: Final = "‘’“”•–—…"
_SIGNS: Final = "€‚ƒ„†‡ˆ‰Š‹ŒŽ˜™š›œžŸ\u00a0-\u00bf"
_MOJIBAKE: Final = re.compile(
    rf"[ÂÃ](?:[{_SIGNS}]|[{_QUOTES}](?=\w))"  # Ã© for é, Ã–s for Ös
    rf"|â[€‚„†‡ˆ˜™œ][{_SIGNS}{_QUOTES}]|ï»¿"  # â€™ for ’, â„¢ for ™, the byte order mark
    rf"|(?:[Ä-ß][{_SIGNS}{_QUOTES}]){{2}}"  # Ð¾Ñ‚ for от: one pair alone may be sound
    rf"|(?:[à-ï][{_SIGNS}{_QUOTES}]{{2}}){{2}}"  # æ—¥æœ¬ for 日本
    rf"|ðŸ[{_SIGNS}{_QUOTES}]{{2}}"  # ðŸ˜€ for 😀
)
_WRONG: Final = (
    ("a replacement character", re.compile("\ufffd")),
    ("half a surrogate pair", re.compile("[\ud800-\udfff]")),
    ("a control character", re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")),
    ("a byte order mark", re.compile("[\ufeff\ufffe]")),
    ("UTF-8 read as Windows-1252", _MOJIBAKE),
)
# Whatever is wrong begins with one of these, so that sound texts are passed in one look.
_SUSPECT: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u00c2-\u00f4\ud800-\udfff\ufeff\ufffd\ufffe]")
_ENTITY: Final = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]+);")


def find_mis_encoding(text: str) -> str | None:
    """Say what is wrong with a text, with the place, or return None.

    >>> find_mis_encoding("the cafÃ© is closed")
    "UTF-8 read as Windows-1252 in 'e cafÃ© is'"
    >>> find_mis_encoding("the café is closed")
    """
    if not _SUSPECT.search(text):
        return None
    for what, sign in _WRONG:
        if found := sign.search(text):
            around = text[max(0, found.start() - 5) : found.end() + 3]
            return f"{what} in {ascii(around) if what != 'UTF-8 read as Windows-1252' else repr(around)}"
    return None


def find_html_entity(text: str) -> str | None:
    """Return the first character reference of HTML that stands in the text as such.

    >>> find_html_entity("fish &amp; chips"), find_html_entity("AT&T; fish & chips")
    ('&amp;', None)
    """
    found = (match[0] for match in _ENTITY.finditer(text) if html.unescape(match[0]) != match[0])
    return next(found, None)
