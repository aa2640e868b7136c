"""A run file and the questions it is for in, one score per candidate out; nothing in the run is silently dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anselect.errors import DataError
from anselect.evaluation.trec_files import RunLine, read_run
from anselect.records import Question

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class RunScores:
    """The scores of a run, aligned with the questions and their candidates."""

    scores: list[list[float | None]]
    """None for a candidate that the run lacks."""
    missing: tuple[tuple[str, str], ...]
    """Question id and candidate id of those."""

    @property
    def missing_note(self) -> str:
        """Say in one line what is missing; empty where nothing is."""
        if not self.missing:
            return ""
        total = sum(map(len, self.scores))
        examples = [
            f"question '{question}' candidate '{candidate}'" for question, candidate in self.missing[:_EXAMPLES]
        ]
        more = ["…"] if len(self.missing) > _EXAMPLES else []
        return (
            f"the run lacks {len(self.missing)} of {total} candidates, ranked last as one tie (trec_eval: not found): "
            f"{', '.join(examples + more)}"
        )


def read_run_scores(path: Path, questions: Sequence[Question]) -> RunScores:
    """Read a TREC run or score table for these questions.

    Raises DataError for ids that the questions do not have, all counted and the first named with their lines, and for a
    second score of the same candidate.
    """
    places = {
        question.id: {candidate.id: place for place, candidate in enumerate(question.candidates)}
        for question in questions
    }
    scores: dict[str, list[float | None]] = {question_id: [None] * len(own) for question_id, own in places.items()}
    unknown: list[RunLine] = []
    for entry in read_run(path):
        place = places.get(entry.question_id, {}).get(entry.candidate_id)
        if place is None:
            unknown.append(entry)
        elif scores[entry.question_id][place] is not None:
            message = (
                f"question '{entry.question_id}', candidate '{entry.candidate_id}': expected one score, got a second"
            )
            raise DataError(f"{message}: keep one of the two lines", path=path, line=entry.line)
        else:
            scores[entry.question_id][place] = entry.score
    if unknown:
        _raise_unknown(unknown, places, path)
    return RunScores([scores[question.id] for question in questions], _find_missing(questions, scores))


def _find_missing(
    questions: Sequence[Question], scores: Mapping[str, list[float | None]]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (question.id, candidate.id)
        for question in questions
        for candidate, score in zip(question.candidates, scores[question.id], strict=True)
        if score is None
    )


def _raise_unknown(unknown: Sequence[RunLine], known: Mapping[str, object], path: Path) -> None:
    first = unknown[0]
    names = ", ".join(
        f"question '{entry.question_id}' candidate '{entry.candidate_id}' (line {entry.line})"
        for entry in unknown[:_EXAMPLES]
    )
    strangers = sum(entry.question_id not in known for entry in unknown)
    more = "" if len(unknown) <= _EXAMPLES else ", …"
    raise DataError(
        f"expected ids of the data, got {len(unknown)} unknown ones ({strangers} by their question): {names}{more}: "
        "is the run for this data set and split?",
        path=path,
        line=first.line,
    )
