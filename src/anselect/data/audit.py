"""Questions with their lines in, findings out: what would mislead a training or an evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

from anselect.data.catalogue import dataset_names, find_dataset
from anselect.data.finding import KINDS, Finding, Severity, candidate_finding, on_line, question_finding
from anselect.data.formats.checks import shown
from anselect.data.leaks import SeenTexts, plain
from anselect.data.locate import is_present
from anselect.data.located import LocatedQuestion
from anselect.data.mis_encoding import find_html_entity, find_mis_encoding
from anselect.data.reading import read_located

FEWEST_ORDERED: Final = 2
"""So many questions with both labels must be in label order before it is reported: one alone is chance."""
ORDERED_SHARE: Final = 0.95
"""In a file with many questions a few may break the order: TrecQA's train-all was relabelled in seven places."""


@dataclass(frozen=True, slots=True)
class FileAudit:
    """A file with its size and what was found in it."""

    file: str
    questions: int
    candidates: int
    findings: tuple[Finding, ...]

    @property
    def defects(self) -> int:
        """How many of the findings are defects."""
        return sum(finding.severity is Severity.defect for finding in self.findings)


def audit_files(
    paths: Iterable[Path], *, input_format: str | None = None, split: str | None = None, data_dir: Path | None = None
) -> list[FileAudit]:
    """Audit files one after the other; what a later one shares with an earlier one is a leak.

    The name of a data set stands for all its splits, unless `split` names one.

    Texts are compared without case and with white space collapsed. Memory: 16 bytes and a place per question and pair.
    """
    seen = SeenTexts()
    return [
        audit_questions(
            read_located(path, input_format=input_format, split=part, data_dir=data_dir),
            str(path) if part is None else f"{path}/{part}",
            seen,
        )
        for path in dict.fromkeys(paths)
        for part in _splits_of(path, split, data_dir)
    ]


def _splits_of(path: Path, split: str | None, data_dir: Path | None) -> Sequence[str | None]:
    """Return the splits to audit: the named one, or those of a data set that are on this machine."""
    if split is not None or path.exists() or str(path) not in dataset_names():
        return (split,)
    splits = tuple(find_dataset(str(path)).splits)
    if len(splits) == 1:
        return (None,)
    return [each for each in splits if is_present(str(path), each, data_dir)] or splits


def audit_questions(located: Iterable[LocatedQuestion], file: str, seen: SeenTexts | None = None) -> FileAudit:
    """Audit the questions of one file against each other and against the files `seen` before."""
    seen = seen or SeenTexts()
    order = _LabelOrder()
    findings: list[Finding] = []
    questions = candidates = 0
    for item in located:
        questions += 1
        candidates += len(item.question.candidates)
        order.add(item)
        findings += audit_question(item, file)
        findings += seen.check(item, file)
    seen.end_file()
    findings += order.findings(file)
    if not questions:
        findings.append(Finding("no-questions", file, None, None, None, "expected questions, got none"))
    ranks = {kind: rank for rank, kind in enumerate(KINDS)}
    return FileAudit(file, questions, candidates, tuple(sorted(findings, key=lambda finding: ranks[finding.kind])))


def audit_question(item: LocatedQuestion, file: str) -> Iterator[Finding]:
    """Yield what is wrong within one question."""
    yield from _label_findings(item, file)
    yield from _duplicate_findings(item, file)
    yield from _text_findings(item, file)


def _label_findings(item: LocatedQuestion, file: str) -> Iterator[Finding]:
    question = item.question
    total = len(question.candidates)
    unknown = sum(candidate.label is None for candidate in question.candidates)
    if not total:
        yield question_finding("no-candidates", item, file, "the question has no candidate")
    elif unknown:
        yield question_finding("unlabelled", item, file, f"{unknown} of {total} candidates have no label")
    elif not question.has_positive:
        yield question_finding(
            "no-positive", item, file, f"none of {total} candidates is correct: it cannot be answered"
        )
    elif not question.has_negative:
        yield question_finding("all-positive", item, file, f"all {total} candidates are correct: any order is perfect")


def _duplicate_findings(item: LocatedQuestion, file: str) -> Iterator[Finding]:
    """Yield a finding per repeat of a text or id, and one per text that has both labels."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    first_ids: dict[str, int] = {}
    candidates = item.question.candidates
    for place, candidate in enumerate(candidates):
        first = first_ids.setdefault(candidate.id, place)
        if first != place:
            message = f"the id {shown(candidate.id)} is that of another candidate{on_line(item.candidate_line(first))}"
            yield candidate_finding("duplicate-candidate-id", item, place, file, message)
        same = places[plain(candidate.text)]
        if same:
            message = f"repeats the text of {shown(candidates[same[0]].id)}{on_line(item.candidate_line(same[0]))}"
            yield candidate_finding("duplicate-candidate", item, place, file, message)
        same.append(place)
    for same in places.values():
        labels = {candidates[place].label for place in same}
        if {0, 1} <= labels:
            other = next(place for place in same if candidates[place].label != candidates[same[0]].label)
            message = f"label {candidates[other].label} for the text of {shown(candidates[same[0]].id)}"
            where = on_line(item.candidate_line(same[0]))
            yield candidate_finding(
                "conflicting-labels", item, other, file, f"{message}, {candidates[same[0]].label}{where}"
            )


def _text_findings(item: LocatedQuestion, file: str) -> Iterator[Finding]:
    for kind, message in _text_faults(item.question.text):
        yield question_finding(kind, item, file, f"question text: {message}")
    for place, candidate in enumerate(item.question.candidates):
        for kind, message in _text_faults(candidate.text):
            yield candidate_finding(kind, item, place, file, message)


def _text_faults(text: str) -> Iterator[tuple[str, str]]:
    if not text.strip():
        yield "empty-text", "expected a text, got none"
    if fault := find_mis_encoding(text):
        yield "mis-encoded", fault
    if "&" in text and (entity := find_html_entity(text)):
        yield "html-entity", f"{entity} stands in the text as such"


@dataclass(slots=True)
class _LabelOrder:
    """Watches whether the labels of every mixed question stand in order, as they do in TrecQA."""

    mixed: int = 0
    positives_first: int = 0
    negatives_first: int = 0
    first: LocatedQuestion | None = None

    def add(self, item: LocatedQuestion) -> None:
        labels = [candidate.label for candidate in item.question.candidates if candidate.label is not None]
        if len(set(labels)) < 2:
            return
        self.mixed += 1
        self.first = self.first or item
        self.positives_first += labels == sorted(labels, reverse=True)
        self.negatives_first += labels == sorted(labels)

    def findings(self, file: str) -> Iterator[Finding]:
        if self.mixed < FEWEST_ORDERED or self.first is None:
            return
        for kind, count in (("positives-first", self.positives_first), ("negatives-first", self.negatives_first)):
            if count >= ceil(ORDERED_SHARE * self.mixed):
                first, second = ("correct", "wrong") if kind == "positives-first" else ("wrong", "correct")
                message = (
                    f"the {first} candidates stand before all {second} ones in {count} of the {self.mixed} questions "
                    "that have both: whoever breaks ties by file order cheats, shuffle them"
                )
                yield Finding(kind, file, self.first.line, None, None, message)


def group_findings(audits: Sequence[FileAudit]) -> dict[tuple[str, str], list[Finding]]:
    """Gather findings by kind and file, kinds in the order of KINDS."""
    groups: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for kind in KINDS:
        for audited in audits:
            found = [finding for finding in audited.findings if finding.kind == kind]
            if found:
                groups[kind, audited.file] = found
    return dict(groups)
