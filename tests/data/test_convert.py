from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.convert import convert, count_losses, require_free
from anselect.data.format_table import READABLE_FORMATS, WRITABLE_FORMATS
from anselect.data.formats.semeval_xml import RAW_LABELS
from anselect.data.holding import Holds, as_held
from anselect.data.reading import FORMATS, detect_format, read_questions, write_questions
from anselect.errors import DataError, UsageError
from anselect.records import Candidate, Question

BOTH_WAYS = [name for name in WRITABLE_FORMATS if name in READABLE_FORMATS]
TEXTS = st.text(st.sampled_from(list("abAB  \t\n\r'\"<&>,;#\\_é\u2028\ud7ff😀")), max_size=12)
KEYS = st.sampled_from(["label", "answer", "question.x", "candidate.y", "Question ID", "metadata", "id", "é", "page"])
RICH = [
    Question(
        "q1",
        "Who 's it ?",
        (
            Candidate("c7", "It is\tBell 's .", 0, {"page": "3", "answer": "Bell", "label_raw": "Bad"}),
            Candidate("c9", "He did .", 1, {"page": "", "label_raw": "Good"}),
        ),
        {"category": "people", "document_id": "D1", "document_title": "Bell"},
    ),
    Question("q2", "When ?", (Candidate("q2-0", "Now  .", 1, {"label_raw": "Good"}),), {}),
    Question("q3", "Where ?"),
]


def path_of(name: str, folder: Path, stem: str = "a") -> Path:
    return folder / (stem if FORMATS[name].is_folder else f"{stem}.{name}")


def held_questions(questions: list[Question], holds: Holds) -> list[Question]:
    held: list[Question] = []
    for question in questions:
        kept = as_held(question, holds, len(held))
        if kept is not None:
            held.append(kept)
    return held


@st.composite
def question_lists(draw: st.DrawFn, name: str) -> list[Question]:
    """Questions that a format accepts: labels where it needs them, metadata where it is free, none too strange."""
    holds = FORMATS[name].holds
    labels = st.sampled_from([0, 1, None] if holds.unlabelled else [0, 1])
    metadata = st.dictionaries(KEYS, TEXTS, max_size=3) if holds.candidate_metadata is None else st.just({})
    texts = draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    questions = []
    for number, text in enumerate(texts):
        candidates = [
            Candidate(f"c{place}", draw(TEXTS), label, draw(metadata))
            for place, label in enumerate(draw(st.lists(labels, max_size=4)))
        ]
        if name.startswith("semeval"):
            candidates = [Candidate(c.id, c.text, c.label, {"label_raw": RAW_LABELS[c.label]}) for c in candidates]
        questions.append(Question(f"q{number}", text, tuple(candidates), draw(metadata)))
    return questions


@pytest.mark.parametrize("name", BOTH_WAYS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_comes_back_is_what_the_format_says_it_holds(name: str, data: st.DataObject) -> None:
    questions = data.draw(question_lists(name))
    expected = held_questions(questions, FORMATS[name].holds)
    if not expected:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = path_of(name, Path(folder))
        write_questions(
            [each for each in questions if each.candidates or FORMATS[name].holds.empty_questions],
            path,
            output_format=name,
        )
        assert list(read_questions(path, input_format=name)) == expected


@pytest.mark.parametrize(("source", "target"), list(product(["tsv", "csv", "jsonl", "parquet"], repeat=2)))
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_own_formats_lose_nothing_that_both_hold(source: str, target: str, data: st.DataObject) -> None:
    questions = held_questions(
        held_questions(data.draw(question_lists("jsonl")), FORMATS["tsv"].holds), FORMATS["csv"].holds
    )
    with tempfile.TemporaryDirectory() as folder:
        first, second = path_of(source, Path(folder)), path_of(target, Path(folder), "b")
        write_questions(questions, first, output_format=source)
        conversion = convert(first, second, input_format=source, output_format=target)
        assert not conversion.losses
        assert list(read_questions(second, input_format=target)) == questions


@pytest.mark.parametrize(("source", "target"), list(product(BOTH_WAYS, repeat=2)))
def test_every_pair_of_formats(source: str, target: str, tmp_path: Path) -> None:
    first, second = path_of(source, tmp_path), path_of(target, tmp_path, "b")
    write_questions(
        [each for each in RICH if each.candidates or FORMATS[source].holds.empty_questions], first, output_format=source
    )
    questions = list(read_questions(first, input_format=source))
    conversion = convert(first, second, input_format=source, output_format=target)
    converted = list(read_questions(second, input_format=target))
    expected = held_questions(questions, FORMATS[target].holds)
    assert (conversion.source_format, conversion.target_format) == (source, target)
    assert conversion.questions == len(expected) == len(converted)
    assert conversion.candidates == sum(len(question.candidates) for question in converted)
    assert list(without_added_labels(converted)) == list(without_added_labels(expected))
    if not conversion.losses:
        assert list(without_added_labels(converted)) == list(without_added_labels(questions))


def without_added_labels(questions: list[Question]) -> Iterator[Question]:
    """SemEval writes a word for each label, which comes back as metadata even where it was not there before."""
    for question in questions:
        candidates = tuple(
            Candidate(each.id, each.text, each.label, {k: v for k, v in each.metadata.items() if k != "label_raw"})
            for each in question.candidates
        )
        yield Question(question.id, question.text, candidates, question.metadata)


def test_losses_are_named_and_counted(tmp_path: Path) -> None:
    write_questions(RICH, tmp_path / "a.jsonl")
    conversion = convert(tmp_path / "a.jsonl", tmp_path / "toks", output_format="toks")
    assert conversion.losses == {
        "question metadata category": 1,
        "question metadata document_id": 1,
        "question metadata document_title": 1,
        "candidate metadata page": 2,
        "candidate metadata answer": 1,
        "candidate metadata label_raw": 3,
        "candidate ids": 2,
        "white space or characters in texts": 2,
        "questions without candidates": 1,
    }
    assert (conversion.questions, conversion.candidates) == (2, 3)


def test_qrels_lose_the_texts(tmp_path: Path) -> None:
    write_questions(RICH, tmp_path / "a.jsonl")
    conversion = convert(tmp_path / "a.jsonl", tmp_path / "a.qrels")
    assert (conversion.losses["texts"], conversion.losses["questions without candidates"]) == (5, 1)
    assert (tmp_path / "a.qrels").read_text() == "q1 0 c7 0\nq1 0 c9 1\nq2 0 q2-0 1\n"


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (Candidate("c", "x"), "expected label 0 or 1, got None"),
        (Candidate("c d", "x", 1), "expected an id without white"),
    ],
)
def test_qrels_refuse(candidate: Candidate, message: str, tmp_path: Path) -> None:
    write_questions([Question("q", "Who?", (candidate,))], tmp_path / "a.jsonl")
    with pytest.raises(DataError, match=message):
        convert(tmp_path / "a.jsonl", tmp_path / "a.qrels")
    assert not (tmp_path / "a.qrels").exists()


def test_order_is_a_loss_of_its_own(tmp_path: Path) -> None:
    questions = [Question("q", "Who ?", (Candidate("q-0", "It .", 0), Candidate("q-1", "He .", 1)))]
    write_questions(questions, tmp_path / "a.jsonl")
    conversion = convert(tmp_path / "a.jsonl", tmp_path / "jacana", output_format="jacana")
    assert conversion.losses == {"the order of a question's candidates": 1, "candidate ids": 2}


def test_lone_surrogate_is_a_loss_except_in_jsonl(tmp_path: Path) -> None:
    write_questions([Question("q", "a\ud800", (Candidate("c", "x", 1),))], tmp_path / "a.jsonl")
    assert convert(tmp_path / "a.jsonl", tmp_path / "b.tsv").losses == {"white space or characters in texts": 1}
    assert not convert(tmp_path / "a.jsonl", tmp_path / "b.jsonl").losses


def test_losses_of_nothing() -> None:
    assert not count_losses(RICH[0], RICH[0])
    assert count_losses(RICH[2], None) == {"questions without candidates": 1}


def test_missing_label_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    write_questions([Question("q", "Who?", (Candidate("c", "He."),))], tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="expected label 0 or 1, got None"):
        convert(tmp_path / "a.jsonl", tmp_path / "b.xml", output_format="trecqa-xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


def test_target_that_is_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="give --force to replace it"):
        require_free(tmp_path / "a.tsv")
    with pytest.raises(UsageError, match="give --force"):
        require_free(tmp_path)
    for path in (tmp_path / "new.tsv", tmp_path / "empty", Path("-")):
        require_free(path)


def test_source_is_never_its_own_target(tmp_path: Path) -> None:
    write_questions(RICH, tmp_path / "a.tsv")
    with pytest.raises(UsageError, match="expected another file to write to"):
        convert(tmp_path / "a.tsv", tmp_path / "." / "a.tsv")


def test_detokenized_trecqa(tmp_path: Path) -> None:
    write_questions(
        [Question("q", "Who did n't ?", (Candidate("c", "`` He '' -LRB- Bell -RRB-", 1),))], tmp_path / "a.tsv"
    )
    convert(tmp_path / "a.tsv", tmp_path / "t", output_format="toks")
    convert(tmp_path / "t", tmp_path / "b.jsonl", detokenize=True)
    [question] = read_questions(tmp_path / "b.jsonl")
    assert (question.text, question.candidates[0].text) == ("Who didn't?", '"He" (Bell)')


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
def test_real_trecqa_comes_through_whole(target: str, benchmark_data: Path, tmp_path: Path) -> None:
    source = benchmark_data / "original/trecqa/DEV.xml"
    first, second = path_of(target, tmp_path), tmp_path / "b.xml"
    assert not convert(source, first, output_format=target).losses
    assert not convert(first, second, input_format=target, output_format="trecqa-xml").losses
    assert detect_format(second) == "trecqa-xml"
    assert list(read_questions(second)) == list(read_questions(source))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("semeval2015/CQA-QL-devel.xml", "semeval2015"),
        ("semeval2016/SemEval2016-Task3-CQA-QL-dev-subtaskA.xml", "semeval2016"),
    ],
)
def test_real_semeval_comes_through_jsonl_whole(name: str, target: str, benchmark_data: Path, tmp_path: Path) -> None:
    source = benchmark_data / "original" / name
    assert not convert(source, tmp_path / "a.jsonl.gz").losses
    assert not convert(tmp_path / "a.jsonl.gz", tmp_path / "b.xml", output_format=target).losses
    assert list(read_questions(tmp_path / "b.xml")) == list(read_questions(source))


def test_real_wikiqa_comes_through_tsv_whole(benchmark_data: Path, tmp_path: Path) -> None:
    source = benchmark_data / "original/wikiqa/WikiQA-dev.tsv"
    assert not convert(source, tmp_path / "a.tsv").losses
    assert not convert(tmp_path / "a.tsv", tmp_path / "b.tsv", output_format="wikiqa").losses
    assert (tmp_path / "b.tsv").read_bytes() == source.read_bytes()
