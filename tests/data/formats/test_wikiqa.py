"""WikiQA's TSV, small files written here; the real ones are in test_originals."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from anselect.data.formats.wikiqa import COLUMNS, read_wikiqa, write_wikiqa
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

HEADER = "\t".join(COLUMNS)
FIRST = 'Q1\tWho said "no"?\tD1\tNo (word)\tD1-0\tShe said " no .\t0'
SECOND = 'Q1\tWho said "no"?\tD1\tNo (word)\tD1-1\tBell did.\t1'
THIRD = "Q2\tWhy?\tD1\tNo (word)\tD1-0\tSo.\t0"
QUESTIONS = [
    Question(
        "Q1",
        'Who said "no"?',
        (Candidate("D1-0", 'She said " no .', 0), Candidate("D1-1", "Bell did.", 1)),
        {"document_id": "D1", "document_title": "No (word)"},
    ),
    Question("Q2", "Why?", (Candidate("D1-0", "So.", 0),), {"document_id": "D1", "document_title": "No (word)"}),
]


def write(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "w.tsv"
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_read_wikiqa_takes_quotes_literally_and_groups_by_id(tmp_path: Path, end: str) -> None:
    assert list(read_wikiqa(write(tmp_path, HEADER, FIRST, SECOND, THIRD, "", end=end))) == QUESTIONS


def test_read_wikiqa_reads_gzip_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "w.tsv.gz"
    path.write_bytes(gzip.compress("\n".join(["\ufeff" + HEADER, FIRST, SECOND, THIRD]).encode()))
    assert list(read_wikiqa(path)) == QUESTIONS


def test_read_wikiqa_keeps_a_second_document_on_its_candidate(tmp_path: Path) -> None:
    other = SECOND.replace("D1\tNo (word)\tD1-1", "D7\tYes\tD7-0")
    (question,) = read_wikiqa(write(tmp_path, HEADER, FIRST, other))
    assert question.metadata == {"document_id": "D1", "document_title": "No (word)"}
    assert [dict(each.metadata) for each in question.candidates] == [{}, {"document_id": "D7", "document_title": "Yes"}]


def test_read_wikiqa_holds_one_question_at_a_time(tmp_path: Path) -> None:
    questions = read_wikiqa(write(tmp_path, HEADER, FIRST, SECOND, THIRD, "broken"))
    assert next(questions).id == "Q1"
    with pytest.raises(DataError, match=r"w.tsv:5: expected 7"):
        list(questions)


BAD = {
    "missing_column": ([HEADER, FIRST.rpartition("\t")[0]], r":2: expected 7 tab-separated columns, got 6: "),
    "label_2": ([HEADER, FIRST[:-1] + "2"], r":2: expected label 0 or 1, got '2': "),
    "no_label": ([HEADER, FIRST[:-1]], r":2: expected label 0 or 1, got '': "),
    "no_header": ([FIRST], r":1: expected the header QuestionID .*, got 'Q1 "),
    "empty": ([], r":1: expected at least one question, got none: "),
    "header_only": ([HEADER], r":1: expected at least one question, got none: "),
    "question_comes_back": ([HEADER, FIRST, THIRD, SECOND], r":4: expected a new question id, got 'Q1' again: keep "),
    "candidate_twice": ([HEADER, FIRST, FIRST], r":3: expected a new candidate id .*, got 'D1-0' again: "),
    "text_changes": ([HEADER, FIRST, SECOND.replace("Who", "What")], r":3: expected the question text .*, got "),
    "no_question_id": ([HEADER, FIRST[2:]], r":2: expected a QuestionID, got none: "),
    "no_sentence_id": ([HEADER, FIRST.replace("D1-0", "")], r":2: expected a SentenceID, got none: "),
}


@pytest.mark.parametrize(("lines", "message"), BAD.values(), ids=BAD)
def test_read_wikiqa_refuses(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(read_wikiqa(write(tmp_path, *lines)))
    assert "\n" not in str(caught.value)


def test_read_wikiqa_refuses_binary_and_wrong_encoding(tmp_path: Path) -> None:
    path = tmp_path / "w.tsv"
    path.write_bytes(b"\x7fELF\0\0\n")
    with pytest.raises(DataError, match=r"w.tsv:1: expected text, got binary data"):
        list(read_wikiqa(path))
    path.write_bytes(f"{HEADER}\n{FIRST.replace('Bell', 'é')}\n{SECOND.replace('Bell', 'Zoé')}\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"w.tsv:3: expected utf-8 text, got byte 0xe9"):
        list(read_wikiqa(path))


def test_read_wikiqa_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        list(read_wikiqa(tmp_path / "none.tsv"))
    with pytest.raises(MissingFileError, match="is a folder"):
        list(read_wikiqa(tmp_path))


def test_write_wikiqa_gives_the_source_lines(tmp_path: Path) -> None:
    write_wikiqa(QUESTIONS, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "\n".join([HEADER, FIRST, SECOND, THIRD, ""])


def test_write_wikiqa_makes_breaks_blanks_and_leaves_out_empty_questions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    questions = [Question("Q1", "Why\tso?", (Candidate("c", "One.\r\n\r\nTwo  blanks.", 1),)), Question("Q2", "None?")]
    with caplog.at_level(logging.WARNING):
        write_wikiqa(questions, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text().splitlines()[1:] == ["Q1\tWhy so?\t\t\tc\tOne. Two  blanks.\t1"]
    assert "1 questions without candidates left out" in caplog.text


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            Question("Q1", "Why?", (Candidate("c", "So."),)),
            "question 'Q1', candidate 'c': expected label 0 or 1, got None",
        ),
        (
            Question("Q\t1", "Why?", (Candidate("c", "So.", 1),)),
            r"expected an id without tabs or line breaks, got 'Q\\t1'",
        ),
        (Question("Q1", "Why?", (Candidate("", "So.", 1),)), "expected an id .*, got ''"),
    ],
    ids=["no_label", "tab_in_id", "empty_id"],
)
def test_write_wikiqa_refuses_and_leaves_no_file(tmp_path: Path, question: Question, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_wikiqa([question], tmp_path / "out.tsv")
    assert list(tmp_path.iterdir()) == []
