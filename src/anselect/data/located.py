"""Questions together with the lines they stand on, for messages and findings that name file:line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from anselect.errors import DataError
from anselect.records import Question


@dataclass(frozen=True, slots=True)
class LocatedQuestion:
    """A question and where it was read: lines count from 1; parquet counts rows; None is not known."""

    question: Question
    line: int | None = None
    candidate_lines: tuple[int | None, ...] = ()
    """One line per candidate, in the order of `question.candidates`."""

    def candidate_line(self, place: int) -> int | None:
        """Return the line of the candidate at this place, or the question's where it is not known."""
        if place < len(self.candidate_lines) and self.candidate_lines[place] is not None:
            return self.candidate_lines[place]
        return self.line


def unique_questions(located: Iterable[LocatedQuestion], path: Path) -> Iterator[Question]:
    """Drop the lines; refuse ids that come twice (one label or score would overwrite another) and a file of none."""
    first_lines: dict[str, int | None] = {}
    for item in located:
        question = item.question
        if question.id in first_lines:
            raise DataError(
                f"expected every question once, got id {question.id!r} again"
                f"{_first_seen(first_lines[question.id])}: give it an id of its own",
                path=path,
                line=item.line,
            )
        first_lines[question.id] = item.line
        _require_unique_candidates(item, path)
        yield question
    if not first_lines:
        raise DataError("expected at least one question, got none: is this the right file?", path=path)


def _require_unique_candidates(item: LocatedQuestion, path: Path) -> None:
    first_places: dict[str, int] = {}
    for place, candidate in enumerate(item.question.candidates):
        first_place = first_places.setdefault(candidate.id, place)
        if first_place != place:
            raise DataError(
                f"expected every candidate of question {item.question.id!r} once, got id {candidate.id!r} again"
                f"{_first_seen(item.candidate_line(first_place))}: give it an id of its own",
                path=path,
                line=item.candidate_line(place),
            )


def _first_seen(line: int | None) -> str:
    return "" if line is None else f" (first on line {line})"
