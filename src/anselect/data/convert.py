"""One file in, the same questions in another format out, with an account of what that format cannot hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from anselect.data.files import STDIN
from anselect.data.format_table import find_format
from anselect.data.holding import Holds, as_held
from anselect.data.reading import detect_format, detect_output_format, read_questions, write_questions
from anselect.errors import UsageError
from anselect.records import Candidate, Question


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was read, what was written, what was lost on the way."""

    source_format: str
    target_format: str
    questions: int
    candidates: int
    losses: Mapping[str, int]
    """How often, by what the target format could not hold: `candidate metadata pos`, `candidate ids`, …"""


class Reading(TypedDict, total=False):
    """What `read_questions` can be told."""

    input_format: str | None
    split: str | None
    detokenize: bool
    data_dir: Path | None


def convert(source: Path, target: Path, *, output_format: str | None = None, **reading: Unpack[Reading]) -> Conversion:
    """Read `source`, write `target`, streaming; say what the target could not hold.

    A file that stands under the target's name is replaced: call `require_free` before, unless that is wanted.
    """
    _require_other(source, target)
    source_format = reading["input_format"] = reading.get("input_format") or detect_format(source)
    target_format = output_format or detect_output_format(target)
    questions = read_questions(source, **reading)
    account = _Account(find_format(target_format).holds)
    write_questions(account.watch(questions), target, output_format=target_format)
    return Conversion(source_format, target_format, account.questions, account.candidates, dict(account.losses))


def require_free(target: Path) -> None:
    """Raise UsageError where something stands under the target's name that writing would replace."""
    if target == STDIN or not target.exists():
        return
    if not target.is_dir() or any(target.iterdir()):
        raise UsageError(f"{target}: expected a new file, got one that is there already: give --force to replace it")


def count_losses(question: Question, held: Question | None) -> Counter[str]:
    """Count by kind what a question loses when `held` is what comes back of it.

    >>> count_losses(Question("q", "Why?", (), {"topic": "x"}), Question("q", "Why?"))
    Counter({'question metadata topic': 1})
    """
    if held is None:
        return Counter({"questions without candidates": 1})
    losses = Counter(_lost_metadata("question", question, held))
    losses["question ids"] += question.id != held.id
    losses.update(_lost_text(question, held))
    in_order = question.candidates
    if [each.label for each in in_order] != [each.label for each in held.candidates]:
        losses["the order of a question's candidates"] += 1
        in_order = tuple(sorted(in_order, key=lambda candidate: not candidate.is_correct))
    for candidate, held_candidate in zip(in_order, held.candidates, strict=True):
        losses.update(_lost_metadata("candidate", candidate, held_candidate))
        losses["candidate ids"] += candidate.id != held_candidate.id
        losses.update(_lost_text(candidate, held_candidate))
    return +losses


@dataclass(slots=True)
class _Account:
    """Counts what passes by, and what of it the target cannot hold."""

    holds: Holds
    questions: int = 0
    candidates: int = 0
    losses: Counter[str] = field(default_factory=Counter)

    def watch(self, questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            held = as_held(question, self.holds, self.questions)
            if held != question:
                self.losses.update(count_losses(question, held))
            if held is not None:
                self.questions += 1
                self.candidates += len(held.candidates)
                yield question


def _lost_text(record: Question | Candidate, held: Question | Candidate) -> Iterator[str]:
    if record.text != held.text:
        yield "white space or characters in texts" if held.text else "texts"


def _lost_metadata(what: str, record: Question | Candidate, held: Question | Candidate) -> Iterator[str]:
    for key, value in record.metadata.items():
        if held.metadata.get(key) != value:
            yield f"{what} metadata {key}"


def _require_other(source: Path, target: Path) -> None:
    if STDIN not in (source, target) and source.exists() and target.exists() and target.samefile(source):
        raise UsageError(f"expected another file to write to, got {target} twice: name a new one")
