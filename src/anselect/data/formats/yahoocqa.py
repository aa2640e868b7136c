"""YahooCQA's published pickle `{split: {question: [[answer, 0 or 1], …]}}` (plain, gzip or in a zip), in and out."""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from anselect.data.files import open_binary, write_bytes
from anselect.data.formats.checks import at_least_one, needed_label, shown
from anselect.data.formats.plain_pickle import load_plain_pickle
from anselect.errors import DataError, UsageError
from anselect.records import Candidate, Question

ZIP_MAGIC: Final = b"PK\x03\x04"
MAX_BYTES: Final = 2**30
"""The published file is far below this; a small zip that unpacks to more is an attack."""
DEFAULT_SPLIT: Final = "train"


def read_yahoocqa(
    path: Path, split: str | None = None, *, encoding: str = "utf-8", max_bytes: int = MAX_BYTES
) -> Iterator[Question]:
    """Yield the questions of one split; ids are made up by position: `train-17`, its candidates `train-17-0`, ….

    The split must be named where the file has several. Only dict, list, str and int are admitted in the pickle: one
    that could run code is a DataError before anything is loaded. The whole file is held in memory.
    """
    data = _unpacked(path, max_bytes)
    name, questions = _split(load_plain_pickle(data, path, encoding=encoding), split, path)
    del data
    return at_least_one(_questions(name, questions, path), path, line=None)


def write_yahoocqa(questions: Iterable[Question], path: Path, split: str = DEFAULT_SPLIT) -> None:
    """Write one split; ids become positions, questions without candidates stay.

    Raises DataError for a missing label, and for a question text that comes twice: the text is the key.
    """
    answers: dict[str, list[list[str | int]]] = {}
    for question in questions:
        if question.text in answers:
            message = f"question {shown(question.id)}: expected a new text, got {shown(question.text)} again"
            raise DataError(f"{message}: this format tells questions apart by text", path=path)
        answers[question.text] = [[each.text, needed_label(question, each, path)] for each in question.candidates]
    with write_bytes(path) as file:
        pickle.dump({split: answers}, file, protocol=4)


def _unpacked(path: Path, max_bytes: int) -> bytes:
    with open_binary(path) as file:
        data = _read_bounded(file, path, max_bytes)
    if not data:
        raise DataError("expected a pickle, got an empty file: fetch it again", path=path)
    if not data.startswith(ZIP_MAGIC):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_member(archive, path)) as member:
            return _read_bounded(member, path, max_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"expected a whole zip file, got '{error}': fetch it again", path=path) from error


def _member(archive: zipfile.ZipFile, path: Path) -> str:
    # Archives made on a Mac carry a `__MACOSX/._env.pkl` beside the file itself.
    names = [name for name in archive.namelist() if name.endswith(".pkl") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        got = ", ".join(map(shown, names)) or "none"
        raise DataError(f"expected one .pkl file in the zip, got {got}: unpack it and name the file", path=path)
    return names[0]


def _read_bounded(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        message = f"expected at most {max_bytes:,} bytes unpacked, got more: is this the published file?"
        raise DataError(message, path=path)
    return data


def _split(value: Any, split: str | None, path: Path) -> tuple[str, dict[Any, Any]]:  # noqa: ANN401 - any pickle
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
        message = "expected a dict of splits, each a dict of questions, got something else: is this the published file?"
        raise DataError(message, path=path)
    names = ", ".join(map(str, value)) or "none"
    if split is None and len(value) == 1:
        split = next(iter(value))
    if split is None:
        raise UsageError(f"{path}: expected the name of one split, got none: name one of {names}")
    if split not in value:
        raise UsageError(f"{path}: expected one of the splits {names}, got {shown(split)}: name one of them")
    return str(split), value[split]


def _questions(split: str, questions: dict[Any, Any], path: Path) -> Iterator[Question]:
    for place, (text, answers) in enumerate(questions.items()):
        question_id = f"{split}-{place}"
        if not isinstance(text, str) or not isinstance(answers, list):
            message = f"question {question_id}: expected a text with a list of answers, got {shown((text, answers))}"
            raise DataError(message, path=path)
        candidates = tuple(_candidate(f"{question_id}-{number}", answer, path) for number, answer in enumerate(answers))
        yield Question(question_id, text, candidates)


def _candidate(candidate_id: str, answer: Any, path: Path) -> Candidate:  # noqa: ANN401 - any pickle
    is_pair = isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], str)
    if not is_pair or not isinstance(answer[1], int) or answer[1] not in (0, 1):
        message = f"candidate {candidate_id}: expected [text, 0 or 1], got {shown(answer)}: is this the published file?"
        raise DataError(message, path=path)
    return Candidate(candidate_id, answer[0], int(answer[1]))
