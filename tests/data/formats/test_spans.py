from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.formats.spans import place_span, read_located_spans, read_spans
from anselect.errors import DataError
from anselect.records import Question

CONTEXT = "Bell rang. It was loud, said Mr. Watson. Nobody came."


def entry(**changes: Any) -> dict[str, Any]:
    answers = [{"text": "loud", "start": 18}]
    return {"id": "q", "question": "How was it?", "context": CONTEXT, "answers": answers, "title": "T"} | changes


def read(tmp_path: Path, *entries: dict[str, Any]) -> list[Question]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return list(read_spans(path))


def labels(question: Question) -> list[int | None]:
    return [candidate.label for candidate in question.candidates]


def test_sentences_become_candidates(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry())
    assert (question.id, question.text, question.metadata) == ("q", "How was it?", {"document_title": "T"})
    assert [(each.id, each.text, each.label, each.metadata) for each in question.candidates] == [
        ("0", "Bell rang.", 0, {}),
        ("1", "It was loud, said Mr. Watson.", 1, {"answer": "loud"}),
        ("2", "Nobody came.", 0, {}),
    ]


def test_answer_over_a_border_marks_both_sentences(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(answers=[{"text": "rang. It was", "start": 5}]))
    assert labels(question) == [1, 1, 0]


def test_answer_that_ends_at_a_border_marks_one(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(answers=[{"text": "rang.", "start": 5}]))
    assert labels(question) == [1, 0, 0]


def test_every_answer_counts(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(answers=[{"text": "Bell", "start": 0}, {"text": "came", "start": 48}]))
    assert labels(question) == [1, 0, 1]


def test_impossible_question_has_no_correct_sentence(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(is_impossible=True, answers=[]))
    assert labels(question) == [0, 0, 0]


@pytest.mark.parametrize("answers", [[], None])
def test_without_answers_nothing_is_known(answers: object, tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(answers=answers))
    assert labels(question) == [None, None, None]


def test_missing_keys(tmp_path: Path) -> None:
    [question] = read(tmp_path, {"question": "Who?", "context": "Bell."})
    assert (question.id, question.metadata, labels(question)) == ("Q1", {}, [None])


def test_blank_context_has_no_candidates(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(context=" \n", answers=[]))
    assert question.candidates == ()


def test_wrong_starts_are_put_right_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        first, second = read(
            tmp_path,
            entry(answers=[{"text": "Nobody", "start": 3}, {"text": "absent", "start": 0}]),
            entry(id="lost", answers=[{"text": "absent", "start": 0}]),
            entry(id="r", answers=[{"text": "loud"}]),
        )
    assert (first.id, second.id) == ("q", "r")
    assert labels(first) == [0, 0, 1]
    assert labels(second) == [0, 1, 0]
    assert caplog.messages == [
        f"{tmp_path / 'a.jsonl'}: 2 answers moved to the nearest place where their text stands; 2 answers left out, "
        "whose text does not stand in the passage; 1 questions left out, none of whose answers stands in the passage"
    ]


def test_sound_file_gives_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(tmp_path, entry())
    assert not caplog.messages


@pytest.mark.parametrize(
    ("start", "place"), [(0, 0), (1, 0), (9, 11), (5, 0), (6, 11), (99, 22), (-4, 0), (None, 0), (22, 22)]
)
def test_nearest_place(start: int | None, place: int) -> None:
    assert place_span("Bell rang. Bell left. Bell.", "Bell", start) == place


@given(st.text("ab "), st.text("ab", min_size=1), st.integers(-5, 20))
def test_place_is_where_the_answer_stands_and_none_is_nearer(context: str, answer: str, start: int) -> None:
    place = place_span(context, answer, start)
    places = [each for each in range(len(context)) if context.startswith(answer, each)]
    assert (place is None) == (not places)
    if place is not None:
        wanted = min(max(start, 0), len(context))
        assert abs(place - wanted) == min(abs(each - wanted) for each in places)


def squad(version: str = "1.1") -> dict[str, Any]:
    questions = [
        {"id": "a", "question": "Who rang?", "answers": [{"text": "Bell", "answer_start": 0}]},
        {"id": "b", "question": "Who came?", "answers": [], "is_impossible": True, "plausible_answers": []},
    ]
    paragraphs = [{"context": CONTEXT, "qas": questions}]
    return {"version": version, "data": [{"title": "Telephone", "paragraphs": paragraphs}]}


@pytest.mark.parametrize("indent", [None, 2])
def test_squad_json(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "dev-v2.0.json"
    path.write_text(json.dumps(squad(), indent=indent), encoding="utf-8")
    first, second = read_spans(path)
    assert (first.id, labels(first), first.metadata) == ("a", [1, 0, 0], {"document_title": "Telephone"})
    assert (second.id, labels(second)) == ("b", [0, 0, 0])
    assert [item.line for item in read_located_spans(path)] == [None, None]


def test_lists_of_texts_and_starts_beside_each_other(tmp_path: Path) -> None:
    [question] = read(tmp_path, entry(answers={"text": ["loud", "Bell"], "answer_start": [18, 0]}))
    assert labels(question) == [1, 1, 0]


def test_gzip_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(entry())}\n\n{json.dumps(entry(id='r'))}\n".encode()))
    assert [(item.line, item.candidate_lines) for item in read_located_spans(path)] == [(1, (1,) * 3), (3, (3,) * 3)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": None}, "expected the context as a string, got None"),
        ({"question": 5}, "expected the question as a string, got 5"),
        ({"answers": "loud"}, "expected answers as a list of text and start, got 'loud'"),
        ({"answers": ["loud"]}, "expected answers as a list of text and start"),
        ({"answers": [{"text": "loud", "start": "18"}]}, "expected the start of an answer as a whole number, got '18'"),
        ({"answers": [{"start": 18}]}, "expected the text of an answer as a string, got None"),
    ],
)
def test_wrong_shape_names_the_line(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, entry(), entry(id="r", **{}) | changes)
    assert str(error.value).startswith(f"{tmp_path / 'a.jsonl'}:2: {message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "got no question"),
        ('{"data": []}', "got no question"),
        ("not json\n", "a.jsonl:1: expected"),
        ("[1]\n", "a.jsonl:1: expected"),
        (json.dumps(entry()) + "\n{broken\n", "a.jsonl:2: expected"),
        ('{"data": [{"paragraphs": 5}]}', "expected SQuAD's data, paragraphs and qas as lists of objects, got 5"),
        ('{"data": [5]}', "expected SQuAD's data"),
        (json.dumps(entry()) + "\n" + json.dumps(entry()) + "\n", "a.jsonl:2: expected every question once"),
        ("[" * 100_000, "a.jsonl:1: expected"),
    ],
)
def test_what_is_not_spans(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        list(read_spans(path))
    assert message in str(error.value)


def test_counts_of_a_real_file(benchmark_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = benchmark_data / "transfer/quoref_dev.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    questions = list(read_spans(path))
    assert (len(questions), sum(question.positives for question in questions)) == (2378, 2455)
    assert not caplog.messages
