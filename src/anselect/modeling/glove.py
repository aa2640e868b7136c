"""GloVe vectors: a file and the words that are needed come in, a table of just those rows goes out.

Two forms are read: the published text (one word and its numbers a line, plain or gzip), streamed; and `NAME.npy` with
`NAME.vocab.txt` (one word a line, in the order of the rows), memory-mapped. `write_npy` turns the one into the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from anselect.data.files import read_lines, require_file, write_bytes, write_text
from anselect.errors import DataError, UsageError
from anselect.modeling.npy_rows import write_rows

Vectors = npt.NDArray[np.float32]
Unknown = Literal["zeros", "fixed"]
UNKNOWN_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many running words were found in a table, and how."""

    words: int
    exact: int
    lower_case: int
    """Found only when written in lower case."""

    @property
    def unknown(self) -> int:
        """Words that got the vector for unknown ones."""
        return self.words - self.exact - self.lower_case


@dataclass(frozen=True, slots=True)
class GloveTable:
    """Vectors of the words that were asked for."""

    rows: Mapping[str, int]
    """Word → row of `vectors`."""
    vectors: Vectors
    unknown: Vectors
    """The vector (D) of every word that is neither there nor there in lower case."""

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    def embed(self, words: Sequence[str]) -> Vectors:
        """Return one vector a word (words, D)."""
        found = (self._row(word) for word in words)
        chosen = [self.unknown if row is None else self.vectors[row] for row in found]
        return np.stack(chosen) if chosen else np.zeros((0, self.width), dtype=np.float32)

    def coverage(self, words: Iterable[str]) -> Coverage:
        """Count which words have a vector of their own."""
        counted, exact, lower = 0, 0, 0
        for word in words:
            counted += 1
            exact += word in self.rows
            lower += word not in self.rows and word.lower() in self.rows
        return Coverage(counted, exact, lower)

    def _row(self, word: str) -> int | None:
        row = self.rows.get(word)
        return self.rows.get(word.lower()) if row is None else row


def read_glove(path: Path, words: Iterable[str], *, unknown: Unknown = "zeros") -> GloveTable:
    """Read the vectors of `words`, each as written and in lower case; where a file repeats a word its first row counts.

    Unknown words get zeros, or one fixed vector of the known ones' size. Raises DataError with the line of a bad row.
    """
    needed = {form for word in words for form in (word, word.lower())}
    found = _read_npy(path, needed) if path.suffix == ".npy" else _read_text(path, needed)
    rows = {word: row for row, (word, _) in enumerate(found)}
    width = found[0][1].shape[0] if found else glove_width(path)
    vectors = np.stack([vector for _, vector in found]) if found else np.zeros((0, width), dtype=np.float32)
    return GloveTable(rows, vectors, _unknown_vector(vectors, unknown))


def glove_width(path: Path) -> int:
    """Return D, the width of a file's vectors."""
    if path.suffix == ".npy":
        return int(_open_npy(path).shape[1])
    for _, line in read_lines(path):
        if not _is_header(line):
            return len(line.rstrip().split(" ")) - 1
    raise DataError("expected word vectors, got an empty file: is this the right one?", path=path)


def write_npy(text: Path, target: Path) -> int:
    """Turn a text file of vectors into `target` (.npy) and its vocabulary beside it; return the number of words."""
    if target.suffix != ".npy":
        raise UsageError(f"{target}: expected a name that ends in .npy")
    width = glove_width(text)
    with write_text(vocabulary_path(target)) as vocabulary, write_bytes(target) as file:

        def blocks() -> Iterator[Vectors]:
            for number, word, numbers in _split_lines(text, width):
                vocabulary.write(word + "\n")
                yield _parse(numbers, width, text, number).reshape(1, -1)

        return write_rows(file, blocks(), width=width)


def vocabulary_path(path: Path) -> Path:
    """Return where the words of `NAME.npy` stand: `NAME.vocab.txt`."""
    return path.with_suffix(".vocab.txt")


def _read_text(path: Path, needed: set[str]) -> list[tuple[str, Vectors]]:
    width = glove_width(path)
    found: dict[str, Vectors] = {}
    for number, word, numbers in _split_lines(path, width):
        if word in needed and word not in found:
            found[word] = _parse(numbers, width, path, number)
    return list(found.items())


def _read_npy(path: Path, needed: set[str]) -> list[tuple[str, Vectors]]:
    vectors = _open_npy(path)
    found: dict[str, int] = {}
    count = 0
    for number, word in read_lines(vocabulary_path(path)):
        count = number
        if word in needed:
            found.setdefault(word, number - 1)
    if count != len(vectors):
        message = f"expected {len(vectors)} words, one for each row of {path.name}, got {count}"
        raise DataError(message, path=vocabulary_path(path))
    return [(word, np.array(vectors[row], dtype=np.float32)) for word, row in found.items()]


def _open_npy(path: Path) -> npt.NDArray[np.floating]:
    try:
        vectors = np.load(require_file(path), mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise DataError(f"expected a .npy matrix, got another or a damaged file ({error})", path=path) from error
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise DataError(f"expected a matrix of floats, got {vectors.dtype} {vectors.shape}", path=path)
    matrix: npt.NDArray[np.floating] = vectors
    return matrix


def _split_lines(path: Path, width: int) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (line number, word, its numbers as text). Words of GloVe 840B hold spaces, hence the cut from the right."""
    for number, line in read_lines(path):
        if number == 1 and _is_header(line):
            continue
        word, *numbers = line.rstrip().rsplit(" ", width)
        if len(numbers) != width:
            raise DataError(f"expected a word and {width} numbers, got {len(numbers)}", path=path, line=number)
        yield number, word, numbers


def _is_header(line: str) -> bool:
    # word2vec's text form starts with "400000 300".
    fields = line.split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _parse(numbers: list[str], width: int, path: Path, line: int) -> Vectors:
    try:
        return np.array(numbers, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"expected {width} numbers behind the word ({error})", path=path, line=line) from error


def _unknown_vector(vectors: Vectors, unknown: Unknown) -> Vectors:
    width = vectors.shape[1]
    if unknown == "zeros":
        return np.zeros(width, dtype=np.float32)
    spread = float(vectors.std()) if vectors.size else 1.0
    return np.asarray(np.random.default_rng(UNKNOWN_SEED).normal(0.0, spread, size=(width,)), dtype=np.float32)
