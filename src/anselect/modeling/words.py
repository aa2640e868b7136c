"""A text comes in, its words go out, as GloVe and ELMo were trained on them: punctuation and clitics apart."""

from __future__ import annotations

import re
from typing import Final

# In this order: numbers with their separators, abbreviations with inner full stops, the stem before "n't", clitics,
# other words (with inner hyphens), any other character.
_WORD: Final = re.compile(
    r"\d+(?:[.,:]\d+)*|(?:[^\W\d_]\.){2,}|\w+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+(?:-\w+)*|[^\w\s]", re.IGNORECASE
)


def split_words(text: str) -> list[str]:
    """Split a text into words.

    >>> split_words("Didn't Bell's U.S. patent (1,876 pages) win?")
    ['Did', "n't", 'Bell', "'s", 'U.S.', 'patent', '(', '1,876', 'pages', ')', 'win', '?']
    """
    return _WORD.findall(text.replace("’", "'"))
