"""InsuranceQA as the package insuranceqa-data has it (JSON of questions and of answers) in, questions out.

The files are read out of the package's archive or beside each other; none of the package's code is run.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from anselect.data.files import open_binary, require_file
from anselect.data.formats.checks import shown
from anselect.errors import DataError
from anselect.records import Candidate, Question

MAX_BYTES: Final = 2**29
"""A file of the package holds 80 MB at most; one that unpacks to more is not it."""
SPLIT_FILES: Final[Mapping[str, str]] = {"train": "train.json.gz", "dev": "valid.json.gz", "test": "test.json.gz"}
ANSWERS: Final = "answers.json.gz"
SHAPE: Final = '{"0": {"en", "domain", "answers": [ids], "negatives": [ids]}}'


def read_insuranceqa(questions: Path, answers: Path) -> Iterator[Question]:
    """Read the English questions of one split: answers are correct, the pool of negatives is not.

    Candidates stand in the order of their ids, so that the correct ones are not first. Runs of white space become one
    blank (the questions have two between words). `domain` is metadata of the question.
    """
    yield from _questions(_load(questions), _load(answers), questions)


def read_insuranceqa_archive(archive: Path, split: str) -> Iterator[Question]:
    """Read a split straight from the package's tar.gz, which is not unpacked."""
    require_file(archive)
    values = []
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for name in (SPLIT_FILES[split], ANSWERS):
                values.append(_parse(_member(packed, name, archive), archive, name))
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"expected a whole tar.gz, got a damaged one ({error}): get it again", path=archive) from error
    yield from _questions(values[0], values[1], archive)


def _member(packed: tarfile.TarFile, name: str, archive: Path) -> bytes:
    found = next((member for member in packed if member.isfile() and Path(member.name).name == name), None)
    file = packed.extractfile(found) if found else None
    if file is None:
        raise DataError(f"expected {name} in the archive, got none: is this insuranceqa-data 1.1?", path=archive)
    with gzip.GzipFile(fileobj=file) as unzipped:
        return unzipped.read(MAX_BYTES + 1)


def _load(path: Path) -> Mapping[str, Any]:
    with open_binary(path) as file:
        return _parse(file.read(MAX_BYTES + 1), path, path.name)


def _parse(content: bytes, path: Path, name: str) -> Mapping[str, Any]:
    if len(content) > MAX_BYTES:
        raise DataError(f"expected at most {MAX_BYTES:,} bytes in {name}, got more", path=path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON in {name}, got something else ({error}): get it again", path=path) from error
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise DataError(f"expected an object of objects in {name}, got {shown(value)}", path=path)
    return value


def _questions(questions: Mapping[str, Any], answers: Mapping[str, Any], path: Path) -> Iterator[Question]:
    pool = _Pool(answers, path)
    for question_id, entry in questions.items():
        text, right, wrong = entry.get("en"), entry.get("answers"), entry.get("negatives")
        if not isinstance(text, str) or not isinstance(right, list) or not isinstance(wrong, list):
            raise DataError(f"question {shown(question_id)}: expected {SHAPE}, got {shown(entry)}", path=path)
        labels = dict.fromkeys(map(str, wrong), 0) | dict.fromkeys(map(str, right), 1)
        candidates = tuple(pool.candidate(each, labels[each]) for each in sorted(labels, key=_in_order))
        metadata = {"domain": str(entry["domain"])} if entry.get("domain") else {}
        yield Question(question_id, " ".join(text.split()), candidates, metadata)


class _Pool:
    """The answers as candidates; each is made once per label, as two million places share 27,413 of them."""

    def __init__(self, answers: Mapping[str, Any], path: Path) -> None:
        self._answers, self._path = answers, path
        self._made: dict[tuple[str, int], Candidate] = {}

    def candidate(self, answer_id: str, label: int) -> Candidate:
        made = self._made.get((answer_id, label))
        if made is None:
            text = self._answers.get(answer_id, {}).get("en")
            if not isinstance(text, str):
                raise DataError(f"expected an answer with id {shown(answer_id)}, got none", path=self._path)
            made = self._made[answer_id, label] = Candidate(answer_id, " ".join(text.split()), label)
        return made


def _in_order(answer_id: str) -> tuple[int, str]:
    return (int(answer_id) if answer_id.isdecimal() else 0, answer_id)
