from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.formats.csv_file import read_csv, read_located_csv, write_csv
from anselect.errors import DataError
from anselect.records import Candidate, Question


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_quoted_cells_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", '\ufeffquestion,candidate,label\r\n"Who, me?","He said ""no"".\r\nTwice.",1\r\n')
    assert list(read_csv(path)) == [Question("Q1", "Who, me?", (Candidate("Q1-0", 'He said "no".\r\nTwice.', 1),))]


def test_lines_are_those_on_which_records_begin(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'question,candidate\nx,"one\ntwo\nthree"\nx,four\n\ny,five\n')
    assert [(item.line, item.candidate_lines) for item in read_located_csv(path)] == [(2, (2, 5)), (7, (7,))]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "got an empty file: is this the right one?"),
        ('question,candidate,label\nq,"a\nb",1\nq,c,2\n', 4, "expected label 0 or 1"),
        ("question,candidate,label\nq,a\n", 2, "expected 3 cells"),
        ('question,candidate\nq,a\nq,"never closed\nq,b\n', 3, "is a quote not closed?"),
        ('question,candidate\nq,"a"b\n', 2, "expected CSV quoted as in RFC 4180"),
        ("question,candidate\nq,a\0\n", 2, "got binary data"),
        ("question;candidate\nq;a\n", 1, "expected a header with a question column"),
    ],
)
def test_bad_file_is_named_with_its_line(content: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(DataError) as caught:
        list(read_csv(path))
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert message in str(caught.value)


def test_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("question,candidate\nq,naïve\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"a\.csv:1: expected utf-8 text, got byte 0xff"):
        list(read_csv(path))


def test_written_file_is_quoted_where_it_must_be(tmp_path: Path) -> None:
    questions = [Question("q", 'a "b"', (Candidate("c", "x,\ry", 0, {"note": "1\n2"}), Candidate("d", "\t\r\n", 1)))]
    write_csv(questions, tmp_path / "a.csv")
    assert (
        (tmp_path / "a.csv")
        .read_bytes()
        .startswith(b'question_id,question,candidate_id,candidate,label,note\r\nq,"a ""b"""')
    )
    assert list(read_csv(tmp_path / "a.csv")) == questions


def test_text_longer_than_the_csv_default_limit_comes_back(tmp_path: Path) -> None:
    questions = [Question("q", "x" * 200_000, (Candidate("c", "y", 1),))]
    write_csv(questions, tmp_path / "a.csv")
    assert list(read_csv(tmp_path / "a.csv")) == questions
