"""Signs in a text that its bytes were once read in the wrong encoding, and remains of HTML."""

from __future__ import annotations

import html
import re
from typing import Final

# The characters that stand for the bytes 0x80 to 0xBF when UTF-8 is read as Latin-1 or as Windows-1252.
_REST: Final = "\u0080-\u00bf" + "".join(bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0))
# Ã© for é, â€™ for ’, ðŸ˜€ for an emoji. A lone capital with an accent before a quote mark (CAFÉ”) is sound, so for the
# letters of other alphabets (Ð¾Ñ‚ for от) two pairs in a row are asked for.
_MOJIBAKE: Final = re.compile(
    f"[\u00c2\u00c3][{_REST}]|(?:[\u00c4-\u00df][{_REST}]){{2}}|[\u00e0-\u00ef][{_REST}]{{2}}|[\u00f0-\u00f4][{_REST}]{{3}}"
)
_WRONG: Final = (
    ("a replacement character", re.compile("\ufffd")),
    ("half a surrogate pair", re.compile("[\ud800-\udfff]")),
    ("a control character", re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")),
    ("a byte order mark", re.compile("[\ufeff\ufffe]")),
    ("UTF-8 read as Windows-1252", _MOJIBAKE),
)
_ENTITY: Final = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]+);")


def find_mis_encoding(text: str) -> str | None:
    """Say what is wrong with a text, with the place, or return None.

    >>> find_mis_encoding("the cafÃ© is closed")
    "UTF-8 read as Windows-1252 in 'e cafÃ© is'"
    >>> find_mis_encoding("the café is closed")
    """
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
