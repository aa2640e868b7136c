"""A question in, the type of thing it asks for out: six coarse and fifty fine types with probabilities.

Runs the small model in `bundled/answer_type` with onnxruntime. It is written by hand rather than taken from a library
because no package ships such a model; `anselect.training.answer_type` trains it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from anselect.data.files import file_sha256, read_json_object, require_file
from anselect.errors import DataError, HashMismatchError
from anselect.text.answer_type_labels import COARSE_TYPES, FINE_TYPES
from anselect.text.onnx_session import open_session
from anselect.text.texts import each_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["COARSE_TYPES", "FINE_TYPES", "AnswerType", "AnswerTypeModel", "detect_answer_type", "detect_answer_types"]

BUNDLED: Final = Path(__file__).parent.parent / "bundled" / "answer_type"
REPAIR: Final = "install the package again"
MAX_TOKENS: Final = 64
# A long text keeps its start and its end: that is where people put the question.
MAX_CHARACTERS: Final = 4000
_TAIL_TOKENS: Final = 24
_CHUNK: Final = 1024
_BATCH: Final = 32

_COARSE_OF_FINE: Final = np.array([COARSE_TYPES.index(fine.partition(":")[0]) for fine in FINE_TYPES])
_FALLBACK_FINE: Final = "DESC:desc"


@dataclass(frozen=True, slots=True)
class AnswerType:
    """What a question asks for."""

    coarse: str
    """One of COARSE_TYPES: the one whose fine types together are most probable."""
    fine: str
    """One of FINE_TYPES: the most probable one within the coarse type."""
    confidence: float
    """Probability of the coarse type; 1/6 where the text holds no word at all."""
    probabilities: Mapping[str, float]
    """Every fine type with its probability; they sum to 1."""

    @property
    def coarse_probabilities(self) -> Mapping[str, float]:
        """Every coarse type with its probability."""
        totals = dict.fromkeys(COARSE_TYPES, 0.0)
        for fine, probability in self.probabilities.items():
            totals[fine.partition(":")[0]] += probability
        return MappingProxyType(totals)


def detect_answer_type(question: str) -> AnswerType:
    """Return the type of thing that a question asks for, by the bundled model.

    A text without any word (empty, only punctuation or emoji) gives DESC with probability 1/6 for each coarse type.

    Example:
        >>> detect_answer_type("Who is the telephone inventor?").coarse
        'HUM'
    """
    return next(detect_answer_types([question]))


def detect_answer_types(questions: Iterable[str]) -> Iterator[AnswerType]:
    """Yield the answer type of each question in the order given, reading 1,024 questions ahead at most.

    Raises UsageError for anything in `questions` that is not a string.

    Example:
        >>> [answer_type.fine for answer_type in detect_answer_types(["What does API stand for?", "how old is Bono"])]
        ['ABBR:exp', 'NUM:period']
    """
    return _bundled_model().detect(questions)


class AnswerTypeModel:
    """An answer-type model folder (`model.onnx`, `tokenizer.json`, `manifest.json`), its files checked; thread-safe."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        _check_files(folder)
        self._session = open_session(folder / "model.onnx", repair=REPAIR)
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def detect(self, questions: Iterable[str]) -> Iterator[AnswerType]:
        """Yield the answer type of each question, in order."""
        source = each_text(questions, "question")
        while chunk := list(islice(source, _CHUNK)):
            yield from self._detect_chunk(chunk)

    def _detect_chunk(self, questions: Sequence[str]) -> Iterator[AnswerType]:
        by_length: dict[int, list[tuple[int, list[int]]]] = {}
        for place, question in enumerate(questions):
            if ids := self._encode(question):
                by_length.setdefault(len(ids), []).append((place, ids))
        batches = [rows[start : start + _BATCH] for rows in by_length.values() for start in range(0, len(rows), _BATCH)]
        found: list[AnswerType | None] = [None] * len(questions)
        for batch, probabilities in zip(batches, self._run_all(batches), strict=True):
            for (place, _), row in zip(batch, probabilities, strict=True):
                found[place] = decide(row)
        return (answer_type or _NOTHING_ASKED for answer_type in found)

    def _run_all(self, batches: Sequence[Sequence[tuple[int, list[int]]]]) -> Iterator[NDArray[np.float32]]:
        if len(batches) <= 1:
            yield from map(self._run, batches)
            return
        with ThreadPoolExecutor(min(len(batches), os.cpu_count() or 1)) as pool:
            yield from pool.map(self._run, batches)

    def _run(self, batch: Sequence[tuple[int, list[int]]]) -> NDArray[np.float32]:
        ids = np.array([row for _, row in batch], dtype=np.int64)
        probabilities: NDArray[np.float32] = self._session.run(["probabilities"], {"ids": ids})[0]
        return probabilities

    def _encode(self, question: str) -> list[int]:
        """Return the token ids, or nothing for a text without words."""
        if len(question) > MAX_CHARACTERS:
            question = f"{question[: MAX_CHARACTERS // 2]} {question[-MAX_CHARACTERS // 2 :]}"
        if not re.search(r"\w", question):
            return []
        # Half of a surrogate pair, as some JSON files hold, is no valid text for the tokenizer.
        ids: list[int] = self._tokenizer.encode(question.encode("utf-8", "replace").decode("utf-8")).ids
        return ids if len(ids) <= MAX_TOKENS else ids[: MAX_TOKENS - _TAIL_TOKENS] + ids[-_TAIL_TOKENS:]


def decide(probabilities: NDArray[np.float32]) -> AnswerType:
    """Pick the coarse type by the sum over its fine types, then the best fine type within it."""
    exact = probabilities.astype(np.float64)
    exact /= exact.sum()
    totals = np.bincount(_COARSE_OF_FINE, weights=exact, minlength=len(COARSE_TYPES))
    coarse = int(totals.argmax())
    fine = int(np.where(coarse == _COARSE_OF_FINE, exact, -1.0).argmax())
    named = MappingProxyType(dict(zip(FINE_TYPES, exact.tolist(), strict=True)))
    return AnswerType(COARSE_TYPES[coarse], FINE_TYPES[fine], min(float(totals[coarse]), 1.0), named)


def _nothing_asked() -> AnswerType:
    fine_per_coarse = np.bincount(_COARSE_OF_FINE)
    even = 1 / len(COARSE_TYPES) / fine_per_coarse[_COARSE_OF_FINE]
    named = MappingProxyType(dict(zip(FINE_TYPES, even.tolist(), strict=True)))
    return AnswerType(_FALLBACK_FINE.partition(":")[0], _FALLBACK_FINE, 1 / len(COARSE_TYPES), named)


_NOTHING_ASKED: Final = _nothing_asked()


def _check_files(folder: Path) -> None:
    path = folder / "manifest.json"
    hashes = read_json_object(path, REPAIR).get("sha256")
    if not isinstance(hashes, dict) or not {"model.onnx", "tokenizer.json"} <= set(hashes):
        raise DataError(f"expected sha256 of both files: {REPAIR}", path=path)
    for name, expected in hashes.items():
        found = file_sha256(require_file(folder / name))
        if found != expected:
            message = f"expected sha256 {str(expected)[:12]}…, got {found[:12]}…: {REPAIR}"
            raise HashMismatchError(message, path=folder / name)


@lru_cache(maxsize=1)
def _bundled_model() -> AnswerTypeModel:
    return AnswerTypeModel(BUNDLED)
