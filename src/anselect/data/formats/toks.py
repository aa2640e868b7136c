"""Folders of a.toks, b.toks, id.txt, sim.txt (question, candidate, question id, label; a row a line), in and out.

Each file that is read may be gzip, as `a.toks.gz`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from anselect.data.files import read_lines, write_text
from anselect.data.formats.checks import at_least_one, needed_label, parse_id, parse_label, plain_id, with_candidates
from anselect.data.formats.pairs import PairRow, group_pairs
from anselect.data.treebank import tokens_to_text
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

QUESTIONS: Final = "a.toks"
CANDIDATES: Final = "b.toks"
IDS: Final = "id.txt"
LABELS: Final = "sim.txt"


class LabelRow(NamedTuple):
    """What a folder says of one row without b.toks."""

    line: int
    question_id: str
    question: str
    label: int


def read_toks(folder: Path, *, detokenize: bool = False) -> Iterator[Question]:
    """Yield the questions of a folder; candidate ids are `<question id>-<k>`, other files there are ignored.

    Rows of one question stand together: an id that comes back after another question is a DataError, because to
    guess whether it is the same question would be wrong half of the time.
    """
    return at_least_one(group_pairs(_pair_rows(folder, detokenize=detokenize), folder / IDS), folder / IDS)


def write_toks(questions: Iterable[Question], folder: Path) -> None:
    """Write the four files; white space becomes one blank, case is kept, candidate ids become positions.

    Questions without candidates are left out, with a warning; a missing label is a DataError.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(write_text(folder / name)) for name in (IDS, QUESTIONS, CANDIDATES, LABELS)]
        for question in with_candidates(questions, folder):
            question_id = plain_id(question.id, forbidden="", path=folder / IDS)
            for candidate in question.candidates:
                label = needed_label(question, candidate, folder / LABELS)
                values = (question_id, _one_blank(question.text), _one_blank(candidate.text), str(label))
                for file, value in zip(files, values, strict=True):
                    file.write(f"{value}\n")


def read_label_rows(folder: Path) -> Iterator[LabelRow]:
    """Yield the rows of id.txt, a.toks and sim.txt, for a folder that lacks b.toks."""
    for line, (question_id, question, label) in _rows_side_by_side(folder, (IDS, QUESTIONS, LABELS)):
        yield LabelRow(line, *_checked(folder, line, question_id, question, label))


def find_file(folder: Path, name: str) -> Path:
    """Return where a file of the folder is, or would be: under its name or, zipped, with `.gz` after it."""
    zipped = folder / f"{name}.gz"
    return zipped if zipped.is_file() and not (folder / name).is_file() else folder / name


def _pair_rows(folder: Path, *, detokenize: bool) -> Iterator[PairRow]:
    place, last_id = 0, ""
    for line, (raw_id, raw_question, text, raw_label) in _rows_side_by_side(
        folder, (IDS, QUESTIONS, CANDIDATES, LABELS)
    ):
        question_id, question, label = _checked(folder, line, raw_id, raw_question, raw_label)
        place = place + 1 if question_id == last_id else 0
        last_id = question_id
        candidate_text = tokens_to_text(text.split(), detokenize=detokenize)
        question_text = tokens_to_text(question.split(), detokenize=detokenize)
        yield PairRow(line, question_id, question_text, Candidate(f"{question_id}-{place}", candidate_text, label))


def _checked(folder: Path, line: int, question_id: str, question: str, label: str) -> tuple[str, str, int]:
    return (
        parse_id(question_id.strip(), "question id", path=folder / IDS, line=line),
        _one_blank(question),
        parse_label(label.strip(), path=folder / LABELS, line=line),
    )


def _rows_side_by_side(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (line number, one line of each file); all files must have the same number of lines."""
    _check_folder(folder, names)
    files = [read_lines(find_file(folder, name)) for name in names]
    for line, rows in enumerate(zip_longest(*files), start=1):
        for name, row in zip(names, rows, strict=True):
            if row is None:
                message = "expected as many lines as the files beside it, got the end of the file: is it whole?"
                raise DataError(message, path=folder / name, line=line)
        yield line, tuple(text for _, text in rows)


def _check_folder(folder: Path, names: tuple[str, ...]) -> None:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise MissingFileError(f"{folder}: expected a folder with {', '.join(names)}, {what}: check the path")
    if missing := [name for name in names if not find_file(folder, name).is_file()]:
        raise MissingFileError(f"{folder}: expected {', '.join(names)}, got no {', '.join(missing)}: add the file")


def _one_blank(text: str) -> str:
    return " ".join(text.split())
