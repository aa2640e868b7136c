from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest

from anselect.data.formats import parquet as parquet_format
from anselect.data.formats.parquet import read_located_parquet, read_parquet, write_parquet
from anselect.errors import DataError, MissingExtraError, MissingFileError, UsageError
from anselect.records import Candidate, Question

pyarrow = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    pq.write_table(pyarrow.table(columns), path)
    return path


def test_flat_rows_with_typed_cells(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {
            "question_id": [1, 2, 1],
            "question": ["Who?", "When?", "Who?"],
            "answer": ["He.", "Now.", "It."],
            "label": [1.0, float("nan"), 0.0],
            "tags": [["x"], None, None],
        },
    )
    assert list(read_parquet(path)) == [
        Question("1", "Who?", (Candidate("1-0", "He.", 1, {"tags": '["x"]'}), Candidate("1-1", "It.", 0))),
        Question("2", "When?", (Candidate("2-0", "Now."),)),
    ]


def test_boolean_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"question": ["a", "a"], "candidate": ["x", "y"], "label": [True, False]})
    assert [candidate.label for candidate in next(read_parquet(path)).candidates] == [1, 0]


def test_nested_candidates(tmp_path: Path) -> None:
    candidates = [
        {"id": "c", "text": "He.", "label": 1, "metadata": '{"page": 3}'},
        {"id": None, "text": "It.", "label": None},
    ]
    path = write(
        tmp_path / "a.parquet",
        {
            "question_id": ["q", "r"],
            "question": ["Who?", "When?"],
            "candidates": [candidates, None],
            "metadata": [None, None],
        },
    )
    assert list(read_parquet(path)) == [
        Question("q", "Who?", (Candidate("c", "He.", 1, {"page": "3"}), Candidate("q-1", "It."))),
        Question("r", "When?"),
    ]


def test_nested_map_metadata(tmp_path: Path) -> None:
    metadata = pyarrow.array([[("source", "web")]], type=pyarrow.map_(pyarrow.string(), pyarrow.string()))
    path = tmp_path / "a.parquet"
    pq.write_table(
        pyarrow.table({"id": ["q"], "question": ["Who?"], "candidates": [["He."]], "metadata": metadata}), path
    )
    assert list(read_parquet(path)) == [Question("q", "Who?", (Candidate("q-0", "He."),), {"source": "web"})]


def test_lines_are_row_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"question": ["a", "b", "a"], "candidate": ["x", "y", "z"]})
    assert [(item.line, item.candidate_lines) for item in read_located_parquet(path)] == [(1, (1, 3)), (2, (2,))]


def test_everything_comes_back_over_several_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_format, "ROW_GROUP_ROWS", 2)
    monkeypatch.setattr(parquet_format, "BATCH_ROWS", 3)
    questions = [
        Question(
            "q", "tab\t\nline", tuple(Candidate(f"c{n}", f"x\0{n}", n % 2, {"n": str(n)}) for n in range(7)), {"a": ""}
        ),
        Question("r", "", (Candidate("c", ""),)),
        Question("s", "none"),
    ]
    write_parquet(iter(questions), tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 5
    assert list(read_parquet(tmp_path / "a.parquet")) == questions


def test_metadata_column_that_is_not_json_stays_metadata(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet", {"question": ["a", "a"], "candidate": ["x", "y"], "metadata": ["plain", "{broken"]}
    )
    assert [dict(c.metadata) for c in next(read_parquet(path)).candidates] == [
        {"metadata": "plain"},
        {"metadata": "{broken"},
    ]


def test_bad_label_is_named_with_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"question": ["a", "a"], "candidate": ["x", "y"], "label": [1, 2]})
    with pytest.raises(DataError, match=r"a\.parquet:2: expected label 0 or 1"):
        list(read_parquet(path))


@pytest.mark.parametrize("content", [b"", b"question\tcandidate\n", b"PAR1" + bytes(40) + b"PAR1"])
def test_other_content_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet: expected a whole parquet file") as caught:
        list(read_parquet(path))
    assert "\n" not in str(caught.value)


def test_damaged_pages_are_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet", {"question": ["a" * 2000 + str(n) for n in range(99)], "candidate": ["x"] * 99}
    )
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected a whole parquet file"):
        list(read_parquet(path))


def test_gzip_is_read(tmp_path: Path) -> None:
    questions = [Question(f"q{n}", "Who?", (Candidate("c", f"{n}" * 99, 1),)) for n in range(50)]
    write_parquet(questions, tmp_path / "a.parquet")
    zipped = gzip.compress((tmp_path / "a.parquet").read_bytes(), mtime=0)
    (tmp_path / "a.parquet.gz").write_bytes(zipped)
    assert list(read_parquet(tmp_path / "a.parquet.gz")) == questions
    (tmp_path / "a.parquet.gz").write_bytes(zipped[:-20])
    with pytest.raises(DataError, match="expected a whole gzip file"):
        list(read_parquet(tmp_path / "a.parquet.gz"))


def test_missing_file_and_stdin(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(read_parquet(tmp_path / "absent.parquet"))
    with pytest.raises(UsageError, match="cannot be read from stdin"):
        list(read_parquet(Path("-")))
    with pytest.raises(UsageError, match="cannot be written to stdout"):
        write_parquet([], Path("-"))


def test_missing_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"question": ["a"], "candidate": ["x"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'anselect\[scale\]'"):
        list(read_parquet(path))


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    words = pyarrow.array([b"caf\xe9", b"caf\xe9"], pyarrow.binary()).view(pyarrow.string())
    path = tmp_path / "latin.parquet"
    pq.write_table(pyarrow.table({"question": words, "candidate": words, "label": [1, 0]}), path)
    with pytest.raises(DataError, match="expected a whole parquet file") as caught:
        list(read_parquet(path))
    assert str(path) in str(caught.value)
