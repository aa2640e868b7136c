"""The jacana POSInput folder and TRAIN-ALL, small folders written here; the real ones are in test_originals."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from anselect.data.formats.jacana import read_jacana, read_train_all, write_jacana
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

QUESTIONS = "<Q 1 >\nWho is he ?\n</Q>\n<Q 3 >\nThe first currency\n</Q>\n"
POSITIVES = "<A 1 >\r\nBell -LRB- he -RRB-\r\nNot him .\r\n</A>\r\n<A 3 >\r\nIn the war .\r\n</A>\r\n"
NEGATIVES = "<A 1 >\r\nWatson  & < P > me .\r\n</A>\r\n<A 3 >\r\n</A>\r\n"
FILES = {
    "T.Question.POSInput": QUESTIONS,
    "T.Positive-M.POSInput.cleaned": POSITIVES,
    "T.Negative-M.POSInput": NEGATIVES,
}
TOKS = {
    "id.txt": "1\n1\n1\n3\n",
    "a.toks": 3 * "who is he ?\n" + "the first currency in which war ?\n",
    "sim.txt": "1\n0\n0\n1\n",
}


def source(folder: Path, changed: dict[str, str] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (FILES | (changed or {})).items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    # The real folder also has the positives before they were cleaned.
    (folder / "T.Positive-M.POSInput.gz").write_bytes(b"not read")
    return folder


def toks(folder: Path, changed: dict[str, str] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (TOKS | (changed or {})).items():
        (folder / name).write_text(text)
    return folder


def test_read_jacana_takes_positives_first_and_the_labels_of_the_source(tmp_path: Path) -> None:
    first, second = read_jacana(source(tmp_path))
    texts = [(each.id, each.text, each.label) for each in first.candidates]
    assert (first.id, first.text) == ("1", "Who is he ?")
    assert texts == [("1-0", "Bell -LRB- he -RRB-", 1), ("1-1", "Not him .", 1), ("1-2", "Watson & < P > me .", 0)]
    assert second == Question("3", "The first currency", (Candidate("3-0", "In the war .", 1),))


def test_read_jacana_reads_plain_files_and_detokenizes(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    question = next(read_jacana(tmp_path, detokenize=True))
    assert (question.text, question.candidates[0].text) == ("Who is he?", "Bell (he)")


def test_read_train_all_takes_labels_and_the_rest_of_a_cut_question_from_toks(tmp_path: Path) -> None:
    first, second = read_train_all(source(tmp_path / "j"), toks(tmp_path / "t"))
    assert [each.label for each in first.candidates] == [1, 0, 0]
    assert first.text == "Who is he ?"
    assert second.text == "The first currency in which war ?"
    assert second.candidates == (Candidate("3-0", "In the war .", 1),)


def test_read_train_all_detokenizes_on_request(tmp_path: Path) -> None:
    questions = list(read_train_all(source(tmp_path / "j"), toks(tmp_path / "t"), detokenize=True))
    assert [question.text for question in questions] == ["Who is he?", "The first currency in which war?"]
    assert questions[0].candidates[0].text == "Bell (he)"


APART = {
    "other_question_id": ({"id.txt": "1\n1\n1\n4\n"}, "id.txt:4: expected 1 rows of question 3, got 1 of 4: "),
    "fewer_rows": (
        {"id.txt": "1\n1\n3\n3\n", "a.toks": 4 * "who is he ?\n"},
        "id.txt:1: expected 3 rows of question 1, got 2",
    ),
    "other_text": ({"a.toks": 4 * "why ?\n"}, "a.toks:1: expected a question that starts 'Who is he ?', got 'why ?'"),
    "ends_early": (
        {name: text[: text.rindex("\n", 0, -1) + 1] for name, text in TOKS.items()},
        "id.txt: expected rows of question '3'",
    ),
    "goes_on": (
        {name: text + text.splitlines()[0] + "\n" for name, text in TOKS.items()},
        "got question '1'",
    ),
}


@pytest.mark.parametrize(("changed", "message"), APART.values(), ids=APART)
def test_read_train_all_refuses_folders_that_contradict_each_other(
    tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        list(read_train_all(source(tmp_path / "j"), toks(tmp_path / "t", changed)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


BAD = {
    "cut": (
        {"T.Negative-M.POSInput": NEGATIVES[:-6]},
        "Negative-M.POSInput.gz:4: expected </A>, got the end of the file",
    ),
    "not_closed": ({"T.Question.POSInput": QUESTIONS.replace("</Q>\n", "", 1)}, ".gz:3: expected </Q>, got '<Q 3 >'"),
    "other_format": ({"T.Question.POSInput": "id\ttext\n"}, ".gz:1: expected <Q … >, got 'id\\ttext': "),
    "answers_for_questions": ({"T.Question.POSInput": POSITIVES}, ".gz:1: expected <Q … >, got '<A 1 >': "),
    "other_order": (
        {"T.Negative-M.POSInput": NEGATIVES.replace("A 1", "A 2")},
        ".gz:1: expected question '1', got '2': ",
    ),
    "question_missing": (
        {"T.Question.POSInput": QUESTIONS[:24]},
        ".gz: expected question '3', got the end of the file",
    ),
    "two_lines": (
        {"T.Question.POSInput": QUESTIONS.replace("Who", "So\nWho")},
        ".gz:1: expected one line in <Q 1 >, got 2",
    ),
    "binary": ({"T.Positive-M.POSInput.cleaned": "\0"}, "cleaned.gz:1: expected text, got binary"),
    "all_empty": (dict.fromkeys(FILES, ""), "expected at least one question, got none"),
    "id_twice": (
        {name: text.replace(" 3 ", " 1 ") for name, text in FILES.items()},
        ".gz:4: expected a new question id, got '1'",
    ),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_read_jacana_refuses(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_jacana(source(tmp_path, changed)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_jacana_refuses_wrong_encoding_and_damaged_gzip(tmp_path: Path) -> None:
    path = source(tmp_path) / "T.Question.POSInput.gz"
    whole = path.read_bytes()
    path.write_bytes(gzip.compress("<Q 1 >\nZoé ?\n</Q>\n".encode("latin-1")))
    with pytest.raises(DataError, match=r"Question.POSInput.gz:2: expected utf-8 text, got byte 0xe9"):
        list(read_jacana(tmp_path))
    path.write_bytes(whole[:-12])
    with pytest.raises(DataError, match=r"Question.POSInput.gz: expected a whole gzip file"):
        list(read_jacana(tmp_path))


def test_read_jacana_names_what_is_missing_or_double(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none: expected a folder .*, no such folder"):
        list(read_jacana(tmp_path / "none"))
    source(tmp_path)
    with pytest.raises(MissingFileError, match=r"expected a folder .*, is a file"):
        list(read_jacana(tmp_path / "T.Question.POSInput.gz"))
    (tmp_path / "U.Question.POSInput").write_text(QUESTIONS)
    with pytest.raises(DataError, match=r"expected one file named .*, got T.Question.POSInput.gz, U.Question.POSInput"):
        list(read_jacana(tmp_path))
    (tmp_path / "T.Negative-M.POSInput.gz").unlink()
    (tmp_path / "U.Question.POSInput").unlink()
    with pytest.raises(MissingFileError, match=r"expected a file named \*Negative-M.POSInput.gz, got none"):
        list(read_jacana(tmp_path))


def test_write_jacana_moves_positives_to_the_front(tmp_path: Path) -> None:
    candidates = (Candidate("x", "No\tnot .", 0), Candidate("y", "Yes .", 1))
    write_jacana([Question("q", "Is it ?", candidates), Question("r", "None ?")], tmp_path)
    assert list(read_jacana(tmp_path)) == [
        Question("q", "Is it ?", (Candidate("q-0", "Yes .", 1), Candidate("q-1", "No not .", 0))),
        Question("r", "None ?"),
    ]


def test_write_jacana_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    question = Question("q", "Is it ?", (Candidate("x", "No .", 0),))
    for name in ("one", "two"):
        write_jacana([question], tmp_path / name)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert len(one) == 3


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("q", "?", (Candidate("c", "So."),)), "question 'q', candidate 'c': expected label 0 or 1, got None"),
        (Question("q 1", "?"), "expected an id without ' ', got 'q 1'"),
        (Question("q", "?", (Candidate("c", "</A>", 1),)), "question q: expected a text, got the tag </A>"),
    ],
    ids=["no_label", "blank_in_id", "tag"],
)
def test_write_jacana_refuses_and_leaves_no_file(tmp_path: Path, question: Question, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_jacana([question], tmp_path)
    assert list(tmp_path.iterdir()) == []
