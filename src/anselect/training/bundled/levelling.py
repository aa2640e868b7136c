"""Written lists in, fewer of them out: neither few shared words nor length gives the right candidate away in these.

Who writes lists in which shared words mislead makes right candidates too odd: they share the fewest words with the
question, and are the longest, far more often than chance would have it. A model learns that instead.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from anselect.data.overlap import plain_words
from anselect.records import Question

SHORT_WORD: Final = 3
"""Words of so many letters say little of what a text is about."""
KEPT: Final = {(True, True): 0.1, (True, False): 0.4, (False, True): 0.4, (False, False): 1.0}
"""Of lists in which a right candidate shares (the fewest words, is the longest), this share is kept."""


def level_lists(questions: Sequence[Question], chance: random.Random) -> list[Question]:
    """Draw lists, the fewer the more the right candidate stands out in them."""
    return [question for question in questions if chance.random() < KEPT[stands_out(question)]]


def stands_out(question: Question) -> tuple[bool, bool]:
    """Say whether a right candidate is among those that share the fewest words, and among the longest.

    >>> from anselect.records import Candidate
    >>> texts = [("Bell did, in Boston.", 1), ("The telephone was invented in 1876, said the old book.", 0)]
    >>> candidates = tuple(Candidate(str(place), text, label) for place, (text, label) in enumerate(texts))
    >>> stands_out(Question("q", "who invented the telephone", candidates))
    (True, False)
    """
    asked = _words(question.text)
    shared = [len(asked & _words(candidate.text)) for candidate in question.candidates]
    lengths = [len(candidate.text.split()) for candidate in question.candidates]
    right = [place for place, candidate in enumerate(question.candidates) if candidate.label == 1]
    return any(shared[place] == min(shared) for place in right), any(lengths[place] == max(lengths) for place in right)


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in plain_words(text).split() if len(word) > SHORT_WORD)
