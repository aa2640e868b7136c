"""The jacana POSInput files behind TrecQA's TRAIN-ALL (questions, positives, negatives: three files), in and out."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from anselect.data.files import read_lines, write_bytes
from anselect.data.formats.checks import UniqueIds, at_least_one, needed_label, plain_id, shown
from anselect.data.formats.toks import IDS, QUESTIONS, LabelRow, read_label_rows
from anselect.data.treebank import tokens_to_text
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

QUESTION_FILE: Final = "Question.POSInput"
POSITIVE_FILE: Final = "Positive-M.POSInput.cleaned"
NEGATIVE_FILE: Final = "Negative-M.POSInput"
_START: Final = re.compile(r"<([QA]) (\S+) >")
_END: Final = re.compile(r"</[QA]>")


class _Block(NamedTuple):
    """The lines between `<A 7 >` and `</A>`, as words."""

    line: int
    id: str
    texts: list[list[str]]


def read_jacana(folder: Path, *, detokenize: bool = False) -> Iterator[Question]:
    """Yield the questions of a folder, labels as the source says: its positives first, then its negatives.

    Candidate ids are `<question id>-<k>`. The three files (`*.Question.POSInput`, `*.Positive-M.POSInput.cleaned`,
    `*.Negative-M.POSInput`, each plain or `.gz`) hold the same question ids in the same order.
    """
    return at_least_one(
        (_as_question(*blocks, detokenize=detokenize) for blocks in _blocks_side_by_side(folder)), folder, line=None
    )


def read_train_all(jacana_folder: Path, toks_folder: Path, *, detokenize: bool = False) -> Iterator[Question]:
    """Yield TrecQA TRAIN-ALL: the source's texts in their own case, labels and row order of the toks folder.

    The published TRAIN-ALL is not the plain source: it calls some positives negative and completes a question that
    is cut short. Both come from id.txt, a.toks and sim.txt. Raises DataError where the folders contradict each other.
    """
    rows = groupby(read_label_rows(toks_folder), key=lambda row: row.question_id)
    for blocks, group in zip_longest(_blocks_side_by_side(jacana_folder), rows):
        if group is None:
            message = f"expected rows of question {shown(blocks[0].id)}, got the end of the file: is it whole?"
            raise DataError(message, path=toks_folder / IDS)
        labels = list(group[1])
        if blocks is None:
            message = f"expected no more rows, got question {shown(group[0])}: these folders are not of one data set"
            raise DataError(message, path=toks_folder / IDS, line=labels[0].line)
        yield _relabelled(blocks, labels, toks_folder, detokenize=detokenize)


def write_jacana(questions: Iterable[Question], folder: Path) -> None:
    """Write the three gzip files; white space becomes one blank, positives move before negatives, ids become positions.

    Raises DataError for a missing label, a question id with a blank, or a text that looks like a tag.
    """
    with ExitStack() as stack:
        question_file, positive_file, negative_file = (
            stack.enter_context(_open_gzip(folder / f"pairs.{name}.gz", stack))
            for name in (QUESTION_FILE, POSITIVE_FILE, NEGATIVE_FILE)
        )
        for question in questions:
            question_id = plain_id(question.id, forbidden=" ", path=folder)
            labelled = [(needed_label(question, each, folder), each.text) for each in question.candidates]
            question_file.write(_written("Q", question_id, [question.text], folder))
            positive_file.write(_written("A", question_id, [text for label, text in labelled if label], folder))
            negative_file.write(_written("A", question_id, [text for label, text in labelled if not label], folder))


def _relabelled(
    blocks: tuple[_Block, _Block, _Block], rows: list[LabelRow], toks_folder: Path, *, detokenize: bool
) -> Question:
    question_block, positives, negatives = blocks
    path, line, question_id = toks_folder / IDS, rows[0].line, question_block.id
    texts = positives.texts + negatives.texts
    if rows[0].question_id != question_id or len(rows) != len(texts):
        message = f"expected {len(texts)} rows of question {question_id}, got {len(rows)} of {rows[0].question_id}"
        raise DataError(f"{message}: these folders are not of one data set", path=path, line=line)
    words = _completed(question_block.texts[0], rows[0].question.split(), toks_folder / QUESTIONS, line)
    candidates = tuple(
        Candidate(f"{question_id}-{place}", tokens_to_text(text, detokenize=detokenize), row.label)
        for place, (text, row) in enumerate(zip(texts, rows, strict=True))
    )
    return Question(question_id, tokens_to_text(words, detokenize=detokenize), candidates)


def _completed(source: list[str], lowered: list[str], path: Path, line: int) -> list[str]:
    """Return the source's words, followed by those that only the toks folder has."""
    if [word.lower() for word in source] != lowered[: len(source)]:
        message = f"expected a question that starts {shown(' '.join(source))}, got {shown(' '.join(lowered))}"
        raise DataError(f"{message}: these folders are not of one data set", path=path, line=line)
    return source + lowered[len(source) :]


def _as_question(question: _Block, positives: _Block, negatives: _Block, *, detokenize: bool) -> Question:
    labelled = [(text, 1) for text in positives.texts] + [(text, 0) for text in negatives.texts]
    candidates = tuple(
        Candidate(f"{question.id}-{place}", tokens_to_text(text, detokenize=detokenize), label)
        for place, (text, label) in enumerate(labelled)
    )
    return Question(question.id, tokens_to_text(question.texts[0], detokenize=detokenize), candidates)


def _blocks_side_by_side(folder: Path) -> Iterator[tuple[_Block, _Block, _Block]]:
    paths = [_find(folder, name) for name in (QUESTION_FILE, POSITIVE_FILE, NEGATIVE_FILE)]
    ids = UniqueIds("question id", paths[0])
    blocks = zip_longest(*(_blocks(path, letter) for path, letter in zip(paths, "QAA", strict=True)))
    for question, positives, negatives in blocks:
        _check_same_question((question, positives, negatives), paths)
        ids.add(question.id, question.line)
        if len(question.texts) != 1:
            message = f"expected one line in <Q {question.id} >, got {len(question.texts)}: correct this block"
            raise DataError(message, path=paths[0], line=question.line)
        yield question, positives, negatives


def _check_same_question(blocks: tuple[_Block | None, ...], paths: list[Path]) -> None:
    """Raise DataError unless all three files are at the same question."""
    first = next(block for block in blocks if block is not None)
    for block, path in zip(blocks, paths, strict=True):
        if block is None or block.id != first.id:
            got = "the end of the file" if block is None else shown(block.id)
            message = f"expected question {shown(first.id)}, got {got}: the three files must list the same questions"
            raise DataError(message, path=path, line=None if block is None else block.line)


def _blocks(path: Path, letter: str) -> Iterator[_Block]:
    block: _Block | None = None
    number = 1
    for number, line in read_lines(path):
        text = line.strip()
        if block is None:
            block = _started(text, letter, path, number) if text else None
        elif text == f"</{letter}>":
            yield block
            block = None
        elif _START.fullmatch(text):
            raise DataError(f"expected </{letter}>, got {shown(text)}: correct this block", path=path, line=number)
        else:
            block.texts.append(text.split())
    if block is not None:
        message = f"expected </{letter}>, got the end of the file: is it whole? fetch it again"
        raise DataError(message, path=path, line=number)


def _started(text: str, letter: str, path: Path, line: int) -> _Block:
    start = _START.fullmatch(text)
    if start is None or start[1] != letter:
        message = f"expected <{letter} … >, got {shown(text)}: is this a POSInput file?"
        raise DataError(message, path=path, line=line)
    return _Block(line, start[2], [])


def _find(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise MissingFileError(f"{folder}: expected a folder with the three POSInput files, {what}: check the path")
    found = sorted(path for path in folder.iterdir() if path.name.endswith((name, f"{name}.gz")))
    if not found:
        raise MissingFileError(f"{folder}: expected a file named *{name}.gz, got none: add it")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"expected one file named *{name}.gz, got {names}: keep one", path=folder)
    return found[0]


def _open_gzip(path: Path, stack: ExitStack) -> gzip.GzipFile:
    # Without name and time inside, the same questions always give the same bytes.
    return gzip.GzipFile(filename="", mode="wb", fileobj=stack.enter_context(write_bytes(path)), mtime=0)


def _written(letter: str, block_id: str, texts: list[str], folder: Path) -> bytes:
    lines = [" ".join(text.split()) for text in texts]
    if tags := [line for line in lines if _START.fullmatch(line) or _END.fullmatch(line)]:
        raise DataError(f"question {block_id}: expected a text, got the tag {tags[0]}: reword it", path=folder)
    return "".join(f"{line}\n" for line in (f"<{letter} {block_id} >", *lines, f"</{letter}>")).encode("utf-8")
