"""GloVe files in both forms: only the needed rows, unknown words counted, broken lines named."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from anselect.errors import DataError, MissingFileError, UsageError
from anselect.modeling.glove import Coverage, glove_width, read_glove, vocabulary_path, write_npy

LINES = "the 1 2 3\nbell 0.5 -1 2e-1\n. . . 7 8 9\nthe 4 4 4\nParis 5 6 7\n"


@pytest.fixture(params=["text", "gzip", "npy"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same vectors in each form."""
    text = tmp_path / "tiny.3d.txt"
    text.write_text(LINES)
    if request.param == "gzip":
        zipped = tmp_path / "tiny.3d.txt.gz"
        zipped.write_bytes(gzip.compress(LINES.encode()))
        return zipped
    if request.param == "npy":
        assert write_npy(text, tmp_path / "tiny.npy") == 5
        return tmp_path / "tiny.npy"
    return text


def test_only_needed_rows_are_read(vectors: Path) -> None:
    table = read_glove(vectors, ["bell", "paris", "nobody"])
    assert set(table.rows) == {"bell"}
    assert table.vectors.shape == (1, 3)
    assert table.embed(["bell"]).tolist() == [[0.5, -1.0, pytest.approx(0.2)]]


def test_first_row_of_a_repeated_word_counts(vectors: Path) -> None:
    assert read_glove(vectors, ["the"]).embed(["the"]).tolist() == [[1.0, 2.0, 3.0]]


def test_word_with_spaces_is_read(vectors: Path) -> None:
    assert read_glove(vectors, [". . ."]).embed([". . ."]).tolist() == [[7.0, 8.0, 9.0]]


def test_lower_case_is_tried_and_all_is_counted(vectors: Path) -> None:
    words = ["The", "the", "Paris", "PARIS", "xyz"]
    table = read_glove(vectors, words)
    assert table.embed(["The"]).tolist() == [[1.0, 2.0, 3.0]]
    assert table.embed(["Paris"]).tolist() == [[5.0, 6.0, 7.0]]
    coverage = table.coverage(words)
    assert coverage == Coverage(words=5, exact=2, lower_case=1)
    assert coverage.unknown == 2


def test_unknown_words_get_zeros_or_one_fixed_vector(vectors: Path) -> None:
    assert read_glove(vectors, ["the", "xyz"]).embed(["xyz"]).tolist() == [[0.0, 0.0, 0.0]]
    fixed = read_glove(vectors, ["the", "xyz"], unknown="fixed")
    first, second = fixed.embed(["xyz", "zyx"])
    assert np.array_equal(first, second)
    assert first.any()
    assert np.array_equal(read_glove(vectors, ["the"], unknown="fixed").unknown, fixed.unknown)


def test_no_known_word_at_all(vectors: Path) -> None:
    table = read_glove(vectors, ["xyz"])
    assert table.width == 3
    assert table.embed([]).shape == (0, 3)
    assert table.embed(["xyz", "b"]).tolist() == [[0.0] * 3] * 2


def test_word2vec_header_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "w2v.txt"
    path.write_text("2 2\na 1 2\nb 3 4\n")
    assert glove_width(path) == 2
    assert read_glove(path, ["b", "2"]).embed(["b"]).tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 3\n", r"bad.txt:2: expected a word and 2 numbers, got 1"),
        ("a 1 2\nb 3 x\n", r"bad.txt:2: expected 2 numbers behind the word"),
        ("", "expected word vectors, got an empty file"),
    ],
)
def test_broken_text_is_refused_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_glove(path, ["b"])


def test_broken_npy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(b"no matrix")
    with pytest.raises(DataError, match=r"expected a \.npy matrix"):
        read_glove(path, ["a"])
    np.save(path, np.zeros(3, dtype=np.float32))
    with pytest.raises(DataError, match="expected a matrix of floats"):
        read_glove(path, ["a"])
    np.save(path, np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(MissingFileError, match=r"bad\.vocab\.txt"):
        read_glove(path, ["a"])
    vocabulary_path(path).write_text("a\n")
    with pytest.raises(DataError, match=r"expected 2 words, one for each row of bad\.npy, got 1"):
        read_glove(path, ["a"])


def test_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    text = tmp_path / "bad.txt"
    text.write_text("a 1 2\nb x y\n")
    with pytest.raises(DataError):
        write_npy(text, tmp_path / "out.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]
    with pytest.raises(UsageError, match=r"ends in \.npy"):
        write_npy(text, tmp_path / "out.bin")
