"""TREC qrels: questions in, a line `question_id 0 candidate_id label` per candidate out; the texts are not in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anselect.data.formats.checks import needed_label, with_candidates
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Question


def write_qrels(questions: Iterable[Question], path: Path) -> None:
    """Write the labels of all candidates; raise DataError for a missing one or an id that a TREC file cannot hold.

    Questions without candidates are left out, with a warning.
    """
    with open_text_target(path) as file:
        for question in with_candidates(questions, path):
            for candidate in question.candidates:
                require_plain_ids(question.id, candidate.id)
                file.write(f"{question.id} 0 {candidate.id} {needed_label(question, candidate, path)}\n")


def require_plain_ids(*ids: str) -> None:
    """Raise DataError for an id that a TREC file, with blanks between its columns, cannot hold."""
    for identifier in ids:
        if not identifier or any(map(str.isspace, identifier)) or identifier.startswith("#"):
            raise DataError(
                f"expected an id without white space that does not start with '#', got {identifier!r}: "
                "a TREC file cannot hold it, rename it or use a table"
            )
