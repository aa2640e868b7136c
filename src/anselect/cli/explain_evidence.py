"""Token evidence in, lines for a terminal out: words coloured by what they do to the score, and signed as well."""

from __future__ import annotations

import re
from typing import Final

from rich.text import Text

from anselect.text.explain_evidence import CandidateEvidence, Comparison, WordEvidence

Line = tuple[str, Text]
"""What stands before a text, and the text."""

SIGN_STEPS: Final = (0.2, 0.7, 1.6)
"""From how many logits on a word gets one, two, three signs: the odds change by a fifth, by 2, by 5."""
STRONG: Final = SIGN_STEPS[-1]
WORDS_SHOWN: Final = 6
WORDS_COMPARED: Final = 10
# U+202D and U+202E turn the direction of everything that follows, our own words included.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202d\u202e]")
_COLOURS: Final = {"+": "blue", "−": "yellow"}


def visible(text: str) -> str:
    """Replace control characters one by one: offsets stay true, and no candidate can drive the terminal."""
    return _CONTROL.sub(lambda match: " " if match.group() in "\t\n\r" else "\ufffd", text)


def signs(value: float) -> str:
    """Return one to three signs for what a word does; none for next to nothing.

    >>> signs(0.9), signs(-0.3), signs(0.1)
    ('++', '−', '')
    """
    return ("+" if value > 0 else "−") * sum(abs(value) >= step for step in SIGN_STEPS)


def signed(value: float, digits: int = 2) -> str:
    """Write a number with its sign, a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def summary(evidence: CandidateEvidence) -> str:
    """Say in a few words where the logit comes from, and how exact the sum is."""
    logits = f"logit {signed(evidence.logit)}, {signed(evidence.masked_logit)} with all words masked"
    return logits if evidence.gap is None else f"{logits}; gap {signed(evidence.gap, 3)} in {evidence.steps} steps"


def comparison_summary(comparison: Comparison) -> str:
    """Say in one line what makes up the difference of two candidates' logits."""
    parts = f"words {signed(sum(word.difference for word in comparison.words))}"
    length = f"length alone {signed(comparison.masked_difference)}"
    rest = f"not told apart {signed(comparison.unexplained)}"
    return f"difference of logits {signed(comparison.logit_difference)}: {parts}, {length}, {rest}"


def evidence_lines(evidence: CandidateEvidence) -> list[Line]:
    """Return the candidate with signs behind its words, and its strongest words with their values."""
    text, done = Text(), 0
    for word in evidence.words:
        text.append(visible(evidence.text[done : word.start]))
        text.append_text(_signed_word(word))
        done = word.end
    text.append(visible(evidence.text[done:]))
    strongest = [f"{visible(word.text)} {signed(word.value)}" for word in evidence.strongest(WORDS_SHOWN)]
    lines = [("evidence  ", text), ("strongest ", Text(", ".join(strongest) or "none"))]
    about = f"{evidence.method}: {summary(evidence)}"
    unread = sum(not word.is_read for word in evidence.words)
    return [*lines, ("          ", Text(f"{about}; {unread} words not read" if unread else about, "dim"))]


def comparison_lines(comparison: Comparison) -> list[Line]:
    """Return why one candidate is scored above another."""
    lines = [(f"why {comparison.first + 1} over {comparison.second + 1}  ", Text(comparison_summary(comparison)))]
    for word in comparison.words[:WORDS_COMPARED]:
        sides = f"  ({signed(word.first)} in {comparison.first + 1}, {signed(word.second)} in {comparison.second + 1})"
        style = _COLOURS["+" if word.difference > 0 else "−"]
        lines.append(("  ", Text.assemble((f"{signed(word.difference)} {visible(word.text)}", style), (sides, "dim"))))
    return lines


def _signed_word(word: WordEvidence) -> Text:
    shown = signs(word.value)
    if not word.is_read:
        return Text(visible(word.text), "dim strike")
    weight = "bold " if len(shown) > 1 else ""
    return Text(visible(word.text) + shown, f"{weight}{_COLOURS[shown[0]]}" if shown else "")
