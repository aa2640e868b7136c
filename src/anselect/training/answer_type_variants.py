"""A question in, the same question as somebody else would have typed it out: the type asked for never changes."""

from __future__ import annotations

import re
from random import Random

_PREFIXES = (
    "tell me",
    "please tell me",
    "can you tell me",
    "could you tell me",
    "do you know",
    "i want to know",
    "i would like to know",
    "does anyone know",
    "any idea",
    "hey,",
    "ok so",
    "hi there,",
    "just wondering,",
    "quick question:",
)
_SUFFIXES = (" please", " thanks", " ???", "??", " pls", " exactly", "!", ".", " anyone know")
_IMPERATIVES = ("name", "tell me", "give me", "find", "give", "show me", "i need", "state", "identify", "looking for")
_CONTRACTIONS = (
    (r"^(what|who|where|when|how|which)\s+is\b", r"\1's"),
    (r"^(what|who|where|when|how)\s+is\b", r"\1s"),
    (r"^(what|who|where|when|how)\s+are\b", r"\1're"),
    (r"^(what|who|where|when|how)\s+did\b", r"\1'd"),
    (r"\byou\b", "u"),
    (r"\bare\b", "r"),
    (r"\bdo you\b", "do i"),
    (r"\bdo you\b", "can i"),
)
_VERBS = "is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|if|to|about|makes|causes|caused|happens"
_DETOKENISED = (
    (r"``\s*|\s*''", '"'),
    (r"\s+([?.,;:!%)])", r"\1"),
    (r"\s+'(s|re|ll|d|m|ve|t)\b", r"'\1"),
    (r"\s+n't\b", "n't"),
    (r"([(])\s+", r"\1"),
)


def detokenise(text: str) -> str:
    """Put the blanks back where people write them.

    Example:
        >>> detokenise("What 's Tom 's job , `` actor '' ?")
        'What\\'s Tom\\'s job, "actor"?'
    """
    for pattern, replacement in _DETOKENISED:
        text = re.sub(pattern, replacement, text)
    return text.strip()


def vary(text: str, chance: Random) -> str:
    """Return the question in one of the many ways in which people type it."""
    if chance.random() < 0.6:
        text = detokenise(text)
    if chance.random() < 0.10:
        text = _contract(text, chance)
    if chance.random() < 0.15:
        text = _reframe(text, chance)
    if chance.random() < 0.40:
        text = re.sub(r"\s*[?.]+$", "", text)
    if chance.random() < 0.04:
        text += chance.choice(_SUFFIXES)
    if chance.random() < 0.15:
        text = mistype(text, chance)
    return text


def mistype(text: str, chance: Random) -> str:
    """Swap, drop, double or replace one letter of one word of four letters or more."""
    words = text.split(" ")
    places = [place for place, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    if not places:
        return text
    place = chance.choice(places)
    word, at = words[place], chance.randrange(1, len(words[place]) - 1)
    words[place] = chance.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
        )
    )
    return " ".join(words)


def _contract(text: str, chance: Random) -> str:
    pattern, replacement = chance.choice(_CONTRACTIONS)
    return re.sub(pattern, replacement, text, count=1, flags=re.IGNORECASE)


def _reframe(text: str, chance: Random) -> str:
    """Turn a question into a request: "What is the X?" → "Name the X", "Who wrote X?" → "tell me who wrote X"."""
    noun = re.match(
        r"(?:what|which|who)(?:\s+is|\s+are|\s+was|\s+were|\s*'s)\s+((?:the|some)\s.+)", text, re.IGNORECASE
    )
    if noun and chance.random() < 0.6:
        if chance.random() < 0.25:
            return re.sub(r"^(the|some)\s+", "", noun[1])
        return f"{chance.choice(_IMPERATIVES)} {noun[1]}"
    kind = re.match(rf"(?:what|which)\s+((?!(?:{_VERBS})\b)[a-z]+\s.+)", text, re.IGNORECASE)
    if kind and chance.random() < 0.3:
        return f"{chance.choice(('name the', 'name a', 'which'))} {kind[1]}"
    return f"{chance.choice(_PREFIXES)} {text}"
