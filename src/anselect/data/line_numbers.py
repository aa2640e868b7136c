"""The lines of questions and candidates in the benchmark formats, whose readers give questions only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from anselect.data.files import read_lines
from anselect.data.formats import semeval2015, semeval2016
from anselect.data.formats.semeval_xml import Layout
from anselect.data.formats.toks import IDS, find_file
from anselect.data.formats.tsv import read_located_tsv
from anselect.data.formats.xml_reader import read_blocks
from anselect.data.located import LocatedQuestion
from anselect.records import Question

_TRECQA_TAG: Final = re.compile(r"\s*<(QApairs|positive|negative)\b[^\t]*>\s*")


class QuestionLines(NamedTuple):
    """Where one question and its candidates begin."""

    question: int | None
    candidates: tuple[int | None, ...]


def located(questions: Iterator[Question], lines: Iterator[QuestionLines]) -> Iterator[LocatedQuestion]:
    """Put questions and their lines together, question by question in the order of the file."""
    for question, where in zip(questions, lines, strict=True):
        yield LocatedQuestion(question, where.question, where.candidates)


def without_lines(questions: Iterator[Question]) -> Iterator[LocatedQuestion]:
    """Pass questions on from a format that has no lines to name."""
    return map(LocatedQuestion, questions)


def find_wikiqa_lines(path: Path) -> Iterator[QuestionLines]:
    """Yield the lines of a WikiQA file, which is a TSV file of ours with other column names."""
    return (QuestionLines(item.line, item.candidate_lines) for item in read_located_tsv(path))


def find_toks_lines(folder: Path) -> Iterator[QuestionLines]:
    """Yield the rows of a toks folder: the same line in all four files."""
    for _, rows in groupby(read_lines(find_file(folder, IDS)), key=lambda row: row[1].strip()):
        lines = tuple(number for number, _ in rows)
        yield QuestionLines(lines[0], lines)


def find_trecqa_lines(path: Path) -> Iterator[QuestionLines]:
    """Yield the lines of the tags that open a block and its candidates."""
    start: int | None = None
    candidates: list[int] = []
    for number, line in read_lines(path):
        tag = _TRECQA_TAG.fullmatch(line)
        if tag and tag[1] == "QApairs":
            if start is not None:
                yield QuestionLines(start, tuple(candidates))
            start, candidates = number, []
        elif tag:
            candidates.append(number)
    if start is not None:
        yield QuestionLines(start, tuple(candidates))


def find_semeval2015_lines(path: Path) -> Iterator[QuestionLines]:
    """Yield the lines on which questions and comments of a 2015 file begin."""
    return _find_semeval_lines(path, semeval2015.LAYOUT)


def find_semeval2016_lines(path: Path) -> Iterator[QuestionLines]:
    """Yield the lines on which questions and comments of a 2016 or 2017 file begin."""
    return _find_semeval_lines(path, semeval2016.LAYOUT)


def _find_semeval_lines(path: Path, layout: Layout) -> Iterator[QuestionLines]:
    for block in read_blocks(path, layout.block):
        if layout.skip is None or block.element.get(layout.skip) is None:
            comments = block.element.iterfind(layout.comment)
            yield QuestionLines(block.lines.get(block.element), tuple(block.lines.get(comment) for comment in comments))


def with_lines(
    read: Callable[[Path], Iterator[Question]], find_lines: Callable[[Path], Iterator[QuestionLines]]
) -> Callable[[Path], Iterator[LocatedQuestion]]:
    """Return a reader that gives each question with its lines."""
    return lambda path: located(read(path), find_lines(path))
