"""What an audit can find: the kinds, which of them are defects, and the record of one finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from anselect.data.located import LocatedQuestion


class Severity(StrEnum):
    """A defect counts for `--strict`, a remark does not."""

    defect = "defect"
    remark = "remark"


KINDS: Final[Mapping[str, Severity]] = {
    "no-questions": Severity.defect,
    "no-candidates": Severity.defect,
    "no-positive": Severity.defect,
    "all-positive": Severity.defect,
    "duplicate-candidate": Severity.defect,
    "conflicting-labels": Severity.defect,
    "duplicate-candidate-id": Severity.defect,
    "duplicate-question-id": Severity.defect,
    "duplicate-question": Severity.defect,
    "leaked-question": Severity.defect,
    "leaked-pair": Severity.defect,
    "empty-text": Severity.defect,
    "mis-encoded": Severity.defect,
    "positives-first": Severity.defect,
    "negatives-first": Severity.defect,
    "unlabelled": Severity.remark,
    "html-entity": Severity.remark,
}
"""Every kind of finding, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing, and where."""

    kind: str
    file: str
    line: int | None
    question_id: str | None
    candidate_id: str | None
    message: str

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind]

    @property
    def place(self) -> str:
        """`file:line`, or the file alone where no line is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


def question_finding(kind: str, item: LocatedQuestion, file: str, message: str) -> Finding:
    """Return a finding about a question, on its line."""
    return Finding(kind, file, item.line, item.question.id, None, message)


def candidate_finding(kind: str, item: LocatedQuestion, place: int, file: str, message: str) -> Finding:
    """Return a finding about the candidate at this place, on its line."""
    candidate_id = item.question.candidates[place].id
    return Finding(kind, file, item.candidate_line(place), item.question.id, candidate_id, message)


def on_line(line: int | None) -> str:
    """Return the words that name a line, or nothing where it is not known."""
    return "" if line is None else f" on line {line}"
