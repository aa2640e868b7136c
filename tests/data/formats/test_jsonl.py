from __future__ import annotations

import json
from pathlib import Path

import pytest

from anselect.data.formats.jsonl import read_jsonl, read_located_jsonl, write_jsonl
from anselect.errors import DataError
from anselect.records import Candidate, Question


def write(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


@pytest.mark.parametrize(
    ("value", "question"),
    [
        (
            {"id": "q", "question": "Who?", "candidates": [{"id": "c", "text": "He.", "label": 1}, {"text": "It."}]},
            Question("q", "Who?", (Candidate("c", "He.", 1), Candidate("q-1", "It."))),
        ),
        (
            {"question": "Who?", "candidates": ["He.", "It."], "metadata": {"source": "web"}},
            Question("Q1", "Who?", (Candidate("Q1-0", "He."), Candidate("Q1-1", "It.")), {"source": "web"}),
        ),
        (
            {"id": 7, "question": "Who?", "candidates": [{"id": 0, "text": "He.", "label": True, "page": 3}]},
            Question("7", "Who?", (Candidate("0", "He.", 1, {"page": "3"}),)),
        ),
        (
            {
                "query": {"qid": 5, "text": "Who?"},
                "candidates": [{"docid": "d", "score": 0.5, "doc": {"contents": "He."}}],
            },
            Question("5", "Who?", (Candidate("d", "He.", None, {"score": "0.5"}),)),
        ),
        (
            {"query": {"qid": "5", "text": "Who?"}, "candidates": [{"docid": 3, "doc": "He."}]},
            Question("5", "Who?", (Candidate("3", "He."),)),
        ),
        (
            {"query": "Who?", "positive": ["He."], "negative": ["It.", "You."]},
            Question(
                "Q1", "Who?", (Candidate("Q1-0", "He.", 1), Candidate("Q1-1", "It.", 0), Candidate("Q1-2", "You.", 0))
            ),
        ),
        (
            {"query": "Who?", "positive": "He.", "documents": ["It.", "He."]},
            Question("Q1", "Who?", (Candidate("Q1-0", "It.", 0), Candidate("Q1-1", "He.", 1))),
        ),
        (
            {"query": "Who?", "positive": ["He.", "She."], "documents": ["It.", "He."]},
            Question(
                "Q1", "Who?", (Candidate("Q1-0", "It.", 0), Candidate("Q1-1", "He.", 1), Candidate("Q1-2", "She.", 1))
            ),
        ),
        ({"id": "q", "question": "Who?", "candidates": []}, Question("q", "Who?")),
    ],
    ids=[
        "ours",
        "plain_strings",
        "numbers",
        "rank_llm",
        "plain_doc",
        "positive_negative",
        "documents",
        "missed_positive",
        "empty",
    ],
)
def test_shapes(value: object, question: Question, tmp_path: Path) -> None:
    assert list(read_jsonl(write(tmp_path / "a.jsonl", value))) == [question]


def test_flat_objects_are_grouped(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"question_id": "q", "question": "Who?", "answer": "He.", "label": 1, "score": 2},
        {"question_id": "r", "question": "When?", "answer": "Now.", "label": None},
        {"question_id": "q", "question": "Who?", "answer": "It.", "label": 0},
    )
    assert list(read_jsonl(path)) == [
        Question("q", "Who?", (Candidate("q-0", "He.", 1, {"score": "2"}), Candidate("q-1", "It.", 0))),
        Question("r", "When?", (Candidate("r-0", "Now."),)),
    ]


def test_lines_count_blank_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"question": "a", "candidates": ["x", "y"]}\n\n{"question": "b", "candidates": []}\n')
    assert [(item.line, item.candidate_lines) for item in read_located_jsonl(path)] == [(2, (2, 2)), (4, ())]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json", "expected one JSON object per line, got '{not json' (Expecting property name"),
        ("[1, 2]", "expected a question as a JSON object, got [1, 2]"),
        ('{"question": "a"}', "add a list of candidates"),
        ('{"question": 3, "candidates": []}', "expected the question as a string, got 3"),
        ('{"candidates": ["a"]}', "expected the question as a string, got None"),
        ('{"question": "a", "candidates": "b"}', "expected candidates to be a list, got 'b'"),
        ('{"question": "a", "candidates": [4]}', "expected a candidate as a JSON object, got 4"),
        ('{"question": "a", "candidates": [{"id": "c"}]}', "expected the candidate text as a string, got None"),
        (
            '{"question": "a", "candidates": [{"text": "b", "label": 2}]}',
            "expected label 0 or 1 (empty: not known), got '2'",
        ),
        ('{"question": "a", "candidates": [{"text": "b", "label": "yes"}]}', "got 'yes'"),
        ('{"question": "a", "candidates": [{"text": "b", "label": [1]}]}', "expected label 0 or 1"),
        ('{"question": "a", "candidates": [], "metadata": 1}', 'expected "metadata" to be an object, got 1'),
        ("[" * 100_000, "nested too deeply"),
        (
            '{"question": "a", "candidates": [{"text": "b", "label": ' + "1" * 5000 + "}]}",
            "a number that cannot be read",
        ),
        ('{"id": "first", "question": "a", "candidates": []}', "got id 'first' again (first on line 1)"),
        (
            '{"question": "a", "candidates": [{"id": "c", "text": "x"}, {"id": "c", "text": "y"}]}',
            "expected every candidate of question 'Q2' once, got id 'c' again",
        ),
    ],
)
def test_bad_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "first", "question": "a", "candidates": []}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        list(read_jsonl(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_line_among_flat_objects_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "a", "answer": "x"}\n["b"]\n')
    with pytest.raises(DataError, match=r"a\.jsonl:2: expected a JSON object, got \['b'\]"):
        list(read_jsonl(path))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n")
    with pytest.raises(DataError, match=r"got an empty file: is this the right one\?"):
        list(read_jsonl(path))


def test_everything_comes_back(tmp_path: Path) -> None:
    questions = [
        Question("q", "tab\t and\nline \0 \u2028", (Candidate("c", "lone \ud800 half", None, {"a": ""}),), {"b": "é"}),
        Question("r", "é", (Candidate("c", "", 0),)),
        Question("s", ""),
    ]
    write_jsonl(questions, tmp_path / "a.jsonl")
    assert list(read_jsonl(tmp_path / "a.jsonl")) == questions
    assert '"question": "é"' in (tmp_path / "a.jsonl").read_text(encoding="utf-8")
