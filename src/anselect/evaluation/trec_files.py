"""Reading and writing rankings as TREC runs and score tables, reading labels as qrels.

Run: `question_id Q0 candidate_id rank score tag`, blanks between. Score table: `question_id⇥candidate_id⇥score`, header
optional. Qrels: `question_id 0 candidate_id label`. Lines that start with `#` are comments; the rank is never read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anselect.data.files import read_lines
from anselect.data.formats.qrels import require_plain_ids
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Question

RUN_FORMATS = "'question_id Q0 candidate_id rank score tag' or 'question_id⇥candidate_id⇥score'"

# Scores are cut here, in the middle of what single precision holds on a log scale: below stays room for ties.
_LARGEST = np.float32(1e38)


class RunLine(NamedTuple):
    """One line of a run."""

    line: int
    question_id: str
    candidate_id: str
    score: float


Fields = tuple[str, str, str]
"""Question id, candidate id, and the last column that matters, as they stand in a line."""


def read_run(path: Path) -> Iterator[RunLine]:
    """Read a TREC run or a score table; the first line decides which. Raises DataError with file:line.

    A TREC line may lack its tag. An infinite score or NaN has no place in a ranking and is refused.
    """
    split: Callable[[str], Fields | None] | None = None
    header_line = 0
    for number, line in _content(path):
        if split is None:
            split = _split_table if line.count("\t") == 2 else _split_trec
            if split is _split_table and line.split("\t")[2].strip().lower() == "score":
                header_line = number
                continue
        fields = split(line)
        if fields is None:
            raise DataError(f"expected {RUN_FORMATS}, got {_shorten(line)!r}: mend the line", path=path, line=number)
        yield RunLine(number, fields[0], fields[1], _parse_score(fields, path, number))
    if number == header_line:
        message = "expected scores after the header, got the end of the file: is this the right one?"
        raise DataError(message, path=path, line=number)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read labels by question id and candidate id; grades above 1 count as correct. Raises DataError with file:line."""
    labels: dict[str, dict[str, int]] = {}
    for number, line in _content(path):
        fields = line.split()
        if len(fields) != 4 or not fields[3].lstrip("-").isdecimal():
            message = f"expected 'question_id 0 candidate_id label', got {_shorten(line)!r}: mend the line"
            raise DataError(message, path=path, line=number)
        own = labels.setdefault(fields[0], {})
        if fields[2] in own:
            message = f"expected one label, got a second one for question '{fields[0]}', candidate '{fields[2]}'"
            raise DataError(message, path=path, line=number)
        own[fields[2]] = int(int(fields[3]) > 0)
    return labels


def write_run(
    path: Path,
    questions: Sequence[Question],
    scores: Sequence[Sequence[float | None]],
    *,
    tag: str,
    provenance: Mapping[str, str],
) -> None:
    """Write a TREC run whose scores fall strictly, so that every tool reads the same ranking.

    Scores are rounded to the single precision that trec_eval compares, and equal ones are set apart by the least step.
    Among equal ones a hash of the ids decides, never the order of the file, in which correct candidates may come first;
    the first line tells how many pairs this concerns. That line is a comment here and, having the six columns of a run,
    a question that no qrels know for other tools. Candidates without a score (None) are left out.
    Raises DataError for ids with white space: trec_eval cannot read them, a score table can hold them.
    """
    rankings = [_rank(question, own) for question, own in zip(questions, scores, strict=True)]
    facts = {**provenance, "tied_pairs": str(sum(_count_ties(ranking) for ranking in rankings))}
    with open_text_target(path) as file:
        text = ";".join(f"{name}={value}" for name, value in facts.items())
        file.write(f"# Q0 {_join_words(text)} 0 0 {_join_words(tag)}\n")
        for question, ranking in zip(questions, rankings, strict=True):
            falling = separate_scores([score for _, score in ranking])
            for rank, ((candidate_id, _), score) in enumerate(zip(ranking, falling, strict=True), start=1):
                require_plain_ids(question.id, candidate_id)
                file.write(f"{question.id} Q0 {candidate_id} {rank} {score} {_join_words(tag)}\n")


def separate_scores(scores: Sequence[float]) -> NDArray[np.float32]:
    """Turn falling scores into strictly falling ones of single precision, each as near as the one above allows.

    >>> [str(score) for score in separate_scores([0.5, 0.5, 0.25])]
    ['0.5', '0.49999997', '0.25']
    """
    single = np.clip(np.array(scores, dtype=np.float64), -_LARGEST, _LARGEST).astype(np.float32)
    # The bits of a float, read as a whole number, count the floats from 0 up: one step less is the next smaller float.
    bits = single.view(np.int32).astype(np.int64)
    steps = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    place = np.arange(steps.size)
    steps = np.minimum.accumulate(steps + place) - place
    sign = np.where(steps < 0, np.float32(-1), np.float32(1))
    return np.abs(steps).astype(np.int32).view(np.float32) * sign


def _content(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments; raise DataError if there are none."""
    is_empty = True
    for number, line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            is_empty = False
            yield number, line
    if is_empty:
        raise DataError("expected lines, got an empty file: is this the right one?", path=path, line=1)


def _split_table(line: str) -> Fields | None:
    fields = line.split("\t")
    return (fields[0], fields[1], fields[2]) if len(fields) == 3 else None


def _split_trec(line: str) -> Fields | None:
    fields = line.split(maxsplit=5)
    return (fields[0], fields[2], fields[4]) if len(fields) >= 5 else None


def _parse_score(fields: Fields, path: Path, line: int) -> float:
    try:
        score = float(fields[2])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        message = f"question '{fields[0]}', candidate '{fields[1]}': expected a finite score, got '{fields[2]}'"
        raise DataError(f"{message}: mend the run", path=path, line=line)
    return score


def _rank(question: Question, scores: Sequence[float | None]) -> list[tuple[str, float]]:
    """Sort the candidates that have a score, best first; equal scores by a hash of the ids."""
    scored = [
        (candidate.id, float(score))
        for candidate, score in zip(question.candidates, scores, strict=True)
        if score is not None
    ]
    for candidate_id, score in scored:
        if not math.isfinite(score):
            raise DataError(
                f"question '{question.id}', candidate '{candidate_id}': expected a finite score, got {score}"
            )
    return sorted(scored, key=lambda entry: (-entry[1], _hash(question.id, entry[0])))


def _hash(question_id: str, candidate_id: str) -> bytes:
    return blake2b(f"{question_id}\t{candidate_id}".encode(), digest_size=8).digest()


def _count_ties(ranking: Sequence[tuple[str, float]]) -> int:
    _, counts = np.unique([score for _, score in ranking], return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _join_words(text: str) -> str:
    return "_".join(text.split()) or "-"


def _shorten(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:57]}..."
