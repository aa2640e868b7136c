from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.formats.rows import Row, group_rows
from anselect.data.formats.tsv import read_located_tsv, read_tsv, write_tsv
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_plain_file_is_grouped_by_question_text_and_gets_ids(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tsv",
        "question\tcandidate\tlabel\nWho?\tHe.\t1\nWhen?\tNow.\t\nWho?\tShe.\t0\n",
    )
    assert list(read_tsv(path)) == [
        Question("Q1", "Who?", (Candidate("Q1-0", "He.", 1), Candidate("Q1-1", "She.", 0))),
        Question("Q2", "When?", (Candidate("Q2-0", "Now."),)),
    ]


def test_lines_are_those_of_the_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "question\tcandidate\nWho?\tHe.\n\nWhen?\tNow.\nWho?\tShe.\n")
    assert [(item.line, item.candidate_lines) for item in read_located_tsv(path)] == [(2, (2, 5)), (4, (4,))]


@pytest.mark.parametrize(
    "header",
    [
        "question_id\tquestion\tcandidate_id\tcandidate\tlabel",
        "qid\tquery\tanswer_id\tanswer\tlabel",
        "QuestionID\tQuestion\tSentenceID\tSentence\tLabel",
        "query_id\tQUERY\tpassage_id\tpassage\tlabel",
        "question_id\tquestion\tcomment-id\tcomment\tlabel",
    ],
)
def test_aliases_of_the_columns(header: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", header + "\nq7\tWho?\tc9\tHe.\t1\n")
    assert list(read_tsv(path)) == [Question("q7", "Who?", (Candidate("c9", "He.", 1),))]


def test_hugging_face_wikiqa_keeps_the_title_as_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "question_id\tquestion\tdocument_title\tanswer\tlabel\nQ1\tWho?\tBell\tHe.\t0\n")
    assert list(read_tsv(path)) == [
        Question("Q1", "Who?", (Candidate("Q1-0", "He.", 0, {"document_title": "Bell"}),)),
    ]


def test_canonical_name_wins_over_alias_which_becomes_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "question\tanswer\tcandidate\nWho?\tBell\tBell did it.\n")
    [question] = read_tsv(path)
    assert question.candidates == (Candidate("Q1-0", "Bell did it.", None, {"answer": "Bell"}),)


def test_quotes_are_plain_characters_and_crlf_and_bom_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '\ufeffquestion\tcandidate\tlabel\r\nWho is "X\t"Y" said he\t1\r\n')
    assert list(read_tsv(path)) == [Question("Q1", 'Who is "X', (Candidate("Q1-0", '"Y" said he', 1),))]


def test_pandas_labels_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tsv", "question\tcandidate\tlabel\nq\ta\t1.0\nq\tb\t0.0\nq\tc\t\nq\td\tTrue\nq\te\t 0 \n"
    )
    assert [candidate.label for candidate in next(read_tsv(path)).candidates] == [1, 0, None, 1, 0]


def test_row_without_candidate_is_a_question_without_candidates(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "question_id\tquestion\tcandidate_id\tcandidate\tlabel\nq\tWho?\t\t\t\n")
    assert list(read_tsv(path)) == [Question("q", "Who?")]


def test_empty_text_with_label_stays_a_candidate(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "question_id\tquestion\tcandidate_id\tcandidate\tlabel\nq\tWho?\t\t\t0\n")
    assert list(read_tsv(path)) == [Question("q", "Who?", (Candidate("q-0", "", 0),))]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "got an empty file: is this the right one?"),
        ("What is it?\tA thing.\t1\n", 1, "expected a header with a question column"),
        ("question\tlabel\nq\t1\n", 1, "expected a header with a candidate column"),
        ("question\tanswer\tsentence\nq\ta\tb\n", 1, "got 'answer' and 'sentence'"),
        ("question\tcandidate\tcandidate\nq\ta\tb\n", 1, "got 'candidate' twice"),
        ("question\tcandidate\tlabel\nq\ta\t1\nq\tb\n", 3, "expected 3 cells (question, candidate, label), got 2"),
        ("question\tcandidate\tlabel\nq\ta\tb\t1\n", 2, "got 4: is a separator inside a text?"),
        ("question\tcandidate\tlabel\nq\ta\t2\n", 2, "expected label 0 or 1 (empty: not known), got '2'"),
        ("question_id\tquestion\tcandidate\n\tq\ta\n", 2, "expected a question id, got an empty cell"),
        ("qid\tquestion\tcandidate\n1\tx\ta\n2\ty\ta\n1\tz\ta\n", 4, "expected one text for question '1'"),
        ("qid\tquestion\tanswer_id\tanswer\n1\tx\tc\ta\n1\tx\tc\tb\n", 3, "got id 'c' again (first on line 2)"),
        ("question\tcandidate\nq\ta\0b\n", 2, "got binary data"),
    ],
)
def test_bad_file_is_named_with_its_line(content: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", content)
    with pytest.raises(DataError) as caught:
        list(read_tsv(path))
    place = str(path) if line is None else f"{path}:{line}"
    assert str(caught.value).startswith(f"{place}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("question\tcandidate\nq\tcafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.tsv:2: expected utf-8 text, got byte 0xe9"):
        list(read_tsv(path))


def test_truncated_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"question\tcandidate\n" + bytes(range(32, 127)) * 50)[:-20])
    with pytest.raises(DataError, match="expected a whole gzip file"):
        list(read_tsv(path))


@pytest.mark.parametrize("name", ["absent.tsv", "."])
def test_missing_file_or_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(read_tsv(tmp_path / name))


def test_gzip_target_is_compressed_the_same_each_time(tmp_path: Path) -> None:
    questions = [Question("q", "Who?", (Candidate("c", "He.", 1),))]
    for name in ("a.tsv.gz", "b.tsv.gz"):
        write_tsv(questions, tmp_path / name)
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.tsv.gz").read_bytes()).startswith(b"question_id\t")
    assert list(read_tsv(tmp_path / "a.tsv.gz")) == questions


def test_stdin_and_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"question_id\tquestion\tcandidate_id\tcandidate\tlabel\nq\tWho?\tc\tHe.\t1\n"
    output = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    monkeypatch.setattr(sys, "stdout", output)
    write_tsv(read_tsv(Path("-")), Path("-"))
    assert output.buffer.getvalue() == content


def test_metadata_gets_columns_and_comes_back(tmp_path: Path) -> None:
    questions = [
        Question("1", "Who?", (Candidate("a", "He.", 1, {"answer": "He", "label": "x"}), Candidate("b", "It.", 0))),
        Question("2", "When?", (Candidate("c", "Now.", None, {"question.x": "y"}),), {"category": "time"}),
        Question("3", "Where?"),
    ]
    write_tsv(questions, tmp_path / "a.tsv")
    header = (tmp_path / "a.tsv").read_text().splitlines()[0].split("\t")
    assert header[5:] == ["question.category", "answer", "candidate.label", "candidate.question.x"]
    assert list(read_tsv(tmp_path / "a.tsv")) == questions


def test_tabs_and_line_ends_become_blanks(tmp_path: Path) -> None:
    write_tsv([Question("q", "a\tb", (Candidate("c", "x\r\ny\0z", 1),))], tmp_path / "a.tsv")
    assert list(read_tsv(tmp_path / "a.tsv")) == [Question("q", "a b", (Candidate("c", "x y z", 1),))]


def test_target_is_not_made_when_the_source_fails(tmp_path: Path) -> None:
    source = write(tmp_path / "a.tsv", "question\tcandidate\tlabel\nq\ta\t1\nq\tb\t2\n")
    with pytest.raises(DataError):
        write_tsv(read_tsv(source), tmp_path / "b.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]


def row(line: int, question: str) -> Row:
    return Row(line, None, question, None, f"text {line}", None, {}, {})


def test_window_yields_questions_before_the_end_and_refuses_their_return() -> None:
    rows = iter([row(2, "a"), row(3, "a"), row(4, "b"), row(5, "c"), row(6, "a")])
    located = group_rows(rows, Path("a.tsv"), window_rows=3)
    assert next(located).question.id == "Q1"
    with pytest.raises(DataError, match=r"a\.tsv:6: expected the rows of a question within 3 rows .* of line 2 again"):
        list(located)


def test_window_never_splits_a_question_longer_than_itself() -> None:
    rows = [row(line, "a") for line in range(2, 12)] + [row(12, "b")]
    sizes = [len(item.question.candidates) for item in group_rows(rows, Path("a.tsv"), window_rows=3)]
    assert sizes == [10, 1]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_grouping_keeps_every_row_in_order(keys: list[str]) -> None:
    rows = [row(line, key) for line, key in enumerate(keys, start=2)]
    located = list(group_rows(rows, Path("a.tsv")))
    assert [item.question.text for item in located] == list(dict.fromkeys(keys))
    assert sorted(line for item in located for line in item.candidate_lines if line) == [r.line for r in rows]
    assert [item.question.id for item in located] == [f"Q{n}" for n in range(1, len(located) + 1)]


def test_normalised_benchmark_files_have_the_published_counts(benchmark_data: Path) -> None:
    published = {
        "trecqa/test-raw": (95, 1517, 284),
        "wikiqa/dev": (296, 2733, 140),
        "semeval2016/test": (327, 3270, 1329),
        "semeval2017/test": (293, 2930, 1523),
    }
    for name, counts in published.items():
        questions = list(read_tsv(benchmark_data / f"{name}.tsv"))
        candidates = sum(len(question.candidates) for question in questions)
        assert (len(questions), candidates, sum(question.positives for question in questions)) == counts
