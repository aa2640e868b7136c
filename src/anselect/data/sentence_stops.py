"""Does a full stop, question mark or the like end a sentence? A text and the place of the mark in, yes or no out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple

CLOSERS: Final = ")]}\"'”’»›“"
OPENERS: Final = "([{\"'“‘«‹„‚¿¡`*_"
LOOK_BACK: Final = 40
"""Characters looked at before a mark, so that a text without blanks takes linear time."""


def _read_words() -> Mapping[str, frozenset[str]]:
    text = resources.files("anselect.data").joinpath("sentence_words.toml").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in tomllib.loads(text).items()}


# Sets of words by name; sentence_words.toml says what each is for.
_WORDS: Final = _read_words()
_ABBREVIATIONS: Final = _WORDS["titles"] | _WORDS["seldom_last"] | _WORDS["numbered"]

_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
_ENUMERATOR: Final = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})")
_NEXT: Final = re.compile(
    rf"(?P<lead>[{re.escape(OPENERS)}\-–—•·#@$£€%§]{{0,8}}\s?)(?P<word>[^\W_]{{1,30}}(?:['’][^\W\d_]{{1,4}})?)?"
)
_ROMAN: Final = re.compile(r"[IVXLC]+\b")
_JOINED: Final = re.compile(r"[A-Z](?:[a-z’']+|(?=\s))(?=[\s,;:]|$|[.!?](?:\s|$))")
_JOINABLE: Final = re.compile(r"(?:^|[\s(\"“'\-])[^\W\d_]*[a-z]{2,}$|[^\W_][)\]”]$")


class Mark(NamedTuple):
    """A run of marks (`.`, `?!`, `…`) with what closes after it, in the sentence that began at `start`."""

    text: str
    start: int
    """Where the sentence began."""
    first: int
    """Where the marks begin."""
    after: int
    """Where the closing quotes, brackets and footnote marks after them end."""
    resume: int
    """Where the text goes on after the white space; `after` where there is none."""

    @property
    def marks(self) -> str:
        return self.text[self.first : self.after].rstrip(CLOSERS + "[]0123456789")

    @property
    def word(self) -> str:
        """The word right before the marks, without opening signs; empty where a blank stands before them."""
        before = self.text[max(self.start, self.first - LOOK_BACK) : self.first]
        return before[-1:].strip() and before.split()[-1].lstrip(OPENERS)

    @property
    def word_before(self) -> str:
        """The word before the word."""
        words = self.text[max(self.start, self.first - LOOK_BACK) : self.first].split()
        return words[-2].strip(OPENERS + CLOSERS + ",;:") if len(words) > 1 else ""

    @property
    def next_word(self) -> str:
        """The word that follows, without the signs before it; empty where none follows soon."""
        found = _NEXT.match(self.text, self.resume)
        return (found["word"] or "") if found else ""


def ends_sentence(mark: Mark) -> bool:
    """Say whether the sentence ends behind this mark; the end of the text always does."""
    if mark.resume >= len(mark.text):
        return True
    marks = mark.marks
    if marks[-1:] in {"。", "！", "？"}:
        return True
    if mark.resume == mark.after:
        return _ends_without_blank(mark)
    following = mark.next_word
    if not following:
        return not mark.text[mark.resume].isalnum() and mark.text[mark.resume] in "•·*"
    if "!" in marks or "?" in marks:
        return _ends_after_exclamation(mark, following)
    if len(marks) > 1 or marks == "…":
        return following[0].isupper() or following.lower() == "i"
    return _ends_after_full_stop(mark, following)


def _ends_without_blank(mark: Mark) -> bool:
    """`the end.Start of`: a blank was forgotten; not in `www.Example`, `U.S.A`, `Node.Js`, `a.B`."""
    joined = _JOINED.match(mark.text, mark.resume)
    before = mark.text[max(mark.start, mark.first - LOOK_BACK) : mark.first]
    if joined is None or len(mark.marks) > 3 or not _JOINABLE.search(before):
        return False
    return joined[0].lower() not in _WORDS["domains"]


def _ends_after_exclamation(mark: Mark, following: str) -> bool:
    """`"Why?" he asked` and `Yahoo! is` go on; `great! it works` does not."""
    if not _is_lower(following):
        return True
    is_quoted = mark.text[mark.after - 1] in CLOSERS
    word = mark.word.rstrip(CLOSERS)
    return not is_quoted and word[:1].islower() and following.lower() in _WORDS["lower_beginners"]


def _ends_after_full_stop(mark: Mark, following: str) -> bool:
    word = mark.word
    if not word:  # Tokenised text: abbreviations keep their stop, a stop that stands alone is one.
        return not _is_lower(following) or following in _WORDS["lower_beginners"]
    if mark.first - mark.start <= 5 and _ENUMERATOR.fullmatch(mark.text, mark.start, mark.first):
        return False
    if _is_lower(following):
        is_plain = len(word) > 1 and word.isalpha() and not _is_abbreviation(word)
        return is_plain and (following in _WORDS["lower_beginners"] or mark.text[mark.resume] in "([")
    if mark.text[mark.after - 1] in CLOSERS:
        return True
    return _ends_after_word(mark, word, following)


def _ends_after_word(mark: Mark, word: str, following: str) -> bool:
    """The next word has a capital, or is a number."""
    plain = word.lower()
    plain_next = following.lower()
    begins = plain_next in _WORDS["beginners"]
    if len(word) == 1 and word.isupper():
        return _ends_after_letter(mark, following)
    if plain in _WORDS["titles"]:
        return False
    if plain in {"a.m", "p.m"}:
        return plain_next not in _WORDS["zones"] and plain_next not in _WORDS["calendar"] and not following[0].isdigit()
    if word.isdigit() and len(word) < 3 and plain_next in _WORDS["calendar"]:
        return False
    if plain in _WORDS["numbered"]:
        return not (following[0].isdigit() or _ROMAN.match(following))
    if plain in _WORDS["seldom_last"] and (word[0].isupper() or plain in _WORDS["seldom_last_lower"]):
        return begins
    if _DOTTED.fullmatch(word):
        return begins
    return True


def _ends_after_letter(mark: Mark, following: str) -> bool:
    """An initial (`J. K. Rowling`) goes on; `vitamin C. The` and `she got an A. He` end."""
    before = mark.word_before
    if following.lower() not in _WORDS["beginners"]:
        return False
    return before.lower() in _WORDS["lettered"] or before.islower() or following.lower() not in {"a", "i", "in", "to"}


def _is_lower(word: str) -> bool:
    """Say whether a word has no capital: `iOS` begins sentences as `The` does."""
    return word[0].islower() and word[1:2] == word[1:2].lower()


def _is_abbreviation(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or "." in word
