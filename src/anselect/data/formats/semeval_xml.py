"""What SemEval's community question answering files have in common: blocks of one question and its comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

from anselect.data.formats.checks import UniqueIds, at_least_one, shown
from anselect.data.formats.xml_reader import Block, read_blocks
from anselect.data.text_target import open_text_target
from anselect.errors import DataError
from anselect.records import Candidate, Question

LABELS: Final[Mapping[str, int | None]] = {
    "Good": 1,
    "Potential": 0,
    "PotentiallyUseful": 0,
    "Bad": 0,
    "Dialogue": 0,
    "Not English": 0,
    "Other": 0,
    "?": None,
}
"""What the raw labels of 2015, 2016 and 2017 mean; `?` stands in files whose labels are kept back."""
RAW_LABELS: Final[Mapping[int | None, str]] = {1: "Good", 0: "Bad", None: "?"}
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The names that one year's files use."""

    root: str
    block: str
    question: str
    """The element with the question's attributes: the block itself, or its child."""
    question_id: str
    question_metadata: Mapping[str, str]
    """Attribute by metadata key; likewise for comments."""
    subject: str
    body: str
    comment: str
    comment_id: str
    comment_metadata: Mapping[str, str]
    comment_subject: str | None
    comment_bodies: tuple[str, ...]
    """Elements that may hold a comment's text: the first that is there; the first is written."""
    label: str
    sequence: str | None = None
    """The block's own attribute that repeats the question id."""
    skip: str | None = None
    """The block's attribute that says it repeats another block."""


def read_semeval(path: Path, layout: Layout) -> Iterator[Question]:
    """Yield the questions of a file in this layout, one block in memory at a time."""
    return at_least_one(_questions(path, layout), path)


def write_semeval(questions: Iterable[Question], path: Path, layout: Layout) -> None:
    """Write a file in this layout; raises DataError for characters that XML cannot hold."""
    with open_text_target(path) as file:
        file.write(f'<?xml version="1.0" encoding="utf-8"?>\n<{layout.root}>\n')
        for question in questions:
            text = "\n".join(_written_block(question, layout))
            if found := _NOT_XML.search(text):
                message = f"question {shown(question.id)}: expected XML characters, got {found[0]!r}: take it out"
                raise DataError(message, path=path)
            file.write(f"{text}\n")
        file.write(f"</{layout.root}>\n")


def _questions(path: Path, layout: Layout) -> Iterator[Question]:
    ids = UniqueIds("question id", path)
    for block in read_blocks(path, layout.block):
        if layout.skip is None or block.element.get(layout.skip) is None:
            question = _question(block, layout)
            ids.add(question.id, block.lines.get(block.element))
            yield question


def _question(block: Block, layout: Layout) -> Question:
    element = block.element if layout.question == layout.block else _child(block, block.element, layout.question)
    subject = _text(_child(block, element, layout.subject))
    body = _text(_child(block, element, layout.body))
    ids = UniqueIds("comment id", block.path)
    candidates = []
    for comment in block.element.iterfind(layout.comment):
        candidate = _candidate(block, comment, layout)
        ids.add(candidate.id, block.lines.get(comment))
        candidates.append(candidate)
    metadata = _metadata(element, layout.question_metadata)
    if subject:
        metadata["subject"] = subject
    question_id = _attribute(block, element, layout.question_id)
    return Question(question_id, " ".join(filter(None, (subject, body))), tuple(candidates), metadata)


def _candidate(block: Block, comment: Element, layout: Layout) -> Candidate:
    raw = _attribute(block, comment, layout.label)
    if raw not in LABELS:
        message = f"expected {layout.label} to be one of {', '.join(LABELS)}, got {shown(raw)}: correct it"
        raise block.error(comment, message)
    metadata = _metadata(comment, layout.comment_metadata) | {"label_raw": raw}
    if layout.comment_subject is not None and (subject := _text(comment.find(layout.comment_subject))):
        metadata["subject"] = subject
    bodies = [body for tag in layout.comment_bodies if (body := comment.find(tag)) is not None]
    body = bodies[0] if bodies else _child(block, comment, layout.comment_bodies[0])
    return Candidate(_attribute(block, comment, layout.comment_id), _text(body), LABELS[raw], metadata)


def _child(block: Block, element: Element, tag: str) -> Element:
    child = element.find(tag)
    if child is None:
        raise block.error(element, f"expected <{tag}> in <{element.tag}>, got none: is this the right format?")
    return child


def _attribute(block: Block, element: Element, name: str) -> str:
    value = element.get(name)
    if not value:
        raise block.error(element, f"expected attribute {name} on <{element.tag}>, got none: is this the right format?")
    return value


def _text(element: Element | None) -> str:
    return "" if element is None else "".join(element.itertext()).strip()


def _metadata(element: Element, names: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, name in names.items() if (value := element.get(name))}


def _written_block(question: Question, layout: Layout) -> Iterator[str]:
    subject, body = _subject_and_body(question)
    if layout.question == layout.block:
        yield _start(layout.block, {layout.question_id: question.id}, question.metadata, layout.question_metadata)
    else:
        yield _start(layout.block, {layout.sequence: question.id} if layout.sequence else {}, {}, {})
        yield _start(layout.question, {layout.question_id: question.id}, question.metadata, layout.question_metadata)
    yield _element(layout.subject, subject)
    yield _element(layout.body, body)
    if layout.question != layout.block:
        yield f"</{layout.question}>"
    for candidate in question.candidates:
        yield from _written_comment(candidate, layout)
    yield f"</{layout.block}>"


def _written_comment(candidate: Candidate, layout: Layout) -> Iterator[str]:
    own = {layout.comment_id: candidate.id, layout.label: _raw_label(candidate)}
    yield _start(layout.comment, own, candidate.metadata, layout.comment_metadata)
    if layout.comment_subject is not None:
        yield _element(layout.comment_subject, candidate.metadata.get("subject", ""))
    yield _element(layout.comment_bodies[0], candidate.text)
    yield f"</{layout.comment}>"


def _raw_label(candidate: Candidate) -> str:
    """Return the source's own word where it still agrees with the label."""
    raw = candidate.metadata.get("label_raw", "")
    return raw if raw in LABELS and LABELS[raw] == candidate.label else RAW_LABELS[candidate.label]


def _subject_and_body(question: Question) -> tuple[str, str]:
    subject = question.metadata.get("subject", "")
    if subject and question.text == subject:
        return subject, ""
    if subject and question.text.startswith(f"{subject} "):
        return subject, question.text[len(subject) + 1 :]
    return "", question.text


def _start(tag: str, own: Mapping[str, str], metadata: Mapping[str, str], names: Mapping[str, str]) -> str:
    attributes = {**own, **{name: metadata[key] for key, name in names.items() if key in metadata}}
    return " ".join([f"<{tag}", *(f"{name}={quoteattr(value)}" for name, value in attributes.items())]) + ">"


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text, {chr(13): '&#13;'})}</{tag}>"
