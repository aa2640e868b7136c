"""WikiQA's TSV: seven columns, a header, no quoting, LF or CRLF; in and out as questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from anselect.data.files import read_lines
from anselect.data.formats.checks import (
    at_least_one,
    needed_label,
    parse_id,
    parse_label,
    plain_id,
    shown,
    single_line,
    with_candidates,
)
from anselect.data.formats.pairs import PairRow, group_pairs
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Candidate, Question

COLUMNS: Final = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")


def read_wikiqa(path: Path) -> Iterator[Question]:
    """Yield the questions of a WikiQA file; a candidate's id is its SentenceID, unique in its question only.

    `document_id` and `document_title` are metadata of the question, and of a candidate whose document differs.
    Quote characters are ordinary characters. Raises DataError for anything but seven columns and labels 0 and 1.
    """
    return at_least_one(group_pairs(_rows(path), path), path)


def write_wikiqa(questions: Iterable[Question], path: Path) -> None:
    """Write a WikiQA file: LF, tabs and line breaks in texts made blanks, unknown documents left empty.

    Questions without candidates are left out, with a warning; a missing label is a DataError.
    """
    with open_text_target(path) as file:
        file.write("\t".join(COLUMNS) + "\n")
        for question in with_candidates(questions, path):
            file.writelines(_written_row(question, candidate, path) for candidate in question.candidates)


def _rows(path: Path) -> Iterator[PairRow]:
    for line, text in read_lines(path):
        cells = text.split("\t")
        if line == 1:
            _check_header(cells, path)
        elif text:
            yield _row(cells, path, line)


def _check_header(cells: list[str], path: Path) -> None:
    if tuple(cells) != COLUMNS:
        message = f"expected the header {' '.join(COLUMNS)} (tabs between), got {shown(' '.join(cells))}"
        raise DataError(f"{message}: is this a WikiQA file?", path=path, line=1)


def _row(cells: list[str], path: Path, line: int) -> PairRow:
    if len(cells) != len(COLUMNS):
        message = f"expected {len(COLUMNS)} tab-separated columns, got {len(cells)}: correct this row"
        raise DataError(message, path=path, line=line)
    question_id, question, document_id, title, sentence_id, sentence, label = cells
    candidate = Candidate(
        parse_id(sentence_id, "SentenceID", path=path, line=line),
        sentence,
        parse_label(label, path=path, line=line),
    )
    document = {"document_id": document_id, "document_title": title} if document_id or title else None
    return PairRow(line, parse_id(question_id, "QuestionID", path=path, line=line), question, candidate, document)


def _written_row(question: Question, candidate: Candidate, path: Path) -> str:
    documents = [
        single_line(candidate.metadata.get(key, question.metadata.get(key, "")))
        for key in ("document_id", "document_title")
    ]
    ids = [plain_id(value, forbidden="", path=path) for value in (question.id, candidate.id)]
    label = str(needed_label(question, candidate, path))
    return (
        "\t".join([ids[0], single_line(question.text), *documents, ids[1], single_line(candidate.text), label]) + "\n"
    )
