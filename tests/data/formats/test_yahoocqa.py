"""YahooCQA's pickle, small files written here; the published one may not be passed on."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from anselect.data.formats.yahoocqa import read_yahoocqa, write_yahoocqa
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.records import Candidate, Question

TRAIN = {"why is it so ?": [["because", 1], ["no idea", 0]], "who ?": [["me", 0]]}
VALUE = {"train": TRAIN, "dev": {"when ?": [["now", 1]]}, "test": {}}
QUESTIONS = [
    Question("train-0", "why is it so ?", (Candidate("train-0-0", "because", 1), Candidate("train-0-1", "no idea", 0))),
    Question("train-1", "who ?", (Candidate("train-1-0", "me", 0),)),
]


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def write(folder: Path, data: bytes) -> Path:
    path = folder / "env.pkl"
    path.write_bytes(data)
    return path


PLAIN = pickle.dumps(VALUE, 2)
PACKINGS = {
    "plain": PLAIN,
    "gzip": gzip.compress(PLAIN),
    "zip": zipped({"env.pkl": PLAIN, "__MACOSX/._env.pkl": b"resource", "readme.md": b"text"}),
    "python_3": pickle.dumps(VALUE, 5),
}


@pytest.mark.parametrize("data", PACKINGS.values(), ids=PACKINGS)
def test_read_yahoocqa_makes_up_ids_by_position(tmp_path: Path, data: bytes) -> None:
    assert list(read_yahoocqa(write(tmp_path, data), "train")) == QUESTIONS
    (question,) = read_yahoocqa(tmp_path / "env.pkl", "dev")
    assert (question.id, question.candidates[0].id) == ("dev-0", "dev-0-0")


def test_read_yahoocqa_needs_no_split_where_there_is_one(tmp_path: Path) -> None:
    assert list(read_yahoocqa(write(tmp_path, pickle.dumps({"train": TRAIN})))) == QUESTIONS


@pytest.mark.parametrize(("split", "got"), [(None, "none"), ("valid", "'valid'")])
def test_read_yahoocqa_asks_for_a_split_that_is_there(tmp_path: Path, split: str | None, got: str) -> None:
    with pytest.raises(UsageError, match=f"train, dev, test.*|got {got}.* train, dev, test"):
        list(read_yahoocqa(write(tmp_path, PLAIN), split))


class RunsCommand:
    """Unpickled by an ordinary loader, this makes a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def test_read_yahoocqa_refuses_a_pickle_with_code(tmp_path: Path) -> None:
    path = write(tmp_path, zipped({"env.pkl": pickle.dumps({"train": RunsCommand(tmp_path / "made")})}))
    with pytest.raises(DataError, match=r"env.pkl: expected a pickle of dict, list, str and int, got "):
        list(read_yahoocqa(path))
    assert not (tmp_path / "made").exists()


BAD_VALUES = {
    "list": ([1], "expected a dict of splits"),
    "no_splits": ({"question": [["answer", 1]]}, "expected a dict of splits"),
    "label_2": ({"train": {"q": [["a", 2]]}}, r"candidate train-0-0: expected \[text, 0 or 1\], got \['a', 2\]"),
    "label_text": ({"train": {"q": [["a", "1"]]}}, r"candidate train-0-0: expected \[text, 0 or 1\]"),
    "missing_label": (
        {"train": {"q": [["a", 1], ["b"]]}},
        r"candidate train-0-1: expected \[text, 0 or 1\], got \['b'\]",
    ),
    "answer_no_list": ({"train": {"q": ["a"]}}, r"candidate train-0-0: expected \[text, 0 or 1\], got 'a'"),
    "answers_no_list": ({"train": {"q": "a"}}, "question train-0: expected a text with a list of answers"),
    "question_no_text": ({"train": {7: []}}, "question train-0: expected a text with a list of answers"),
    "empty_split": ({"train": {}}, "expected at least one question, got none"),
}


@pytest.mark.parametrize(("value", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_read_yahoocqa_refuses_other_layouts(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(read_yahoocqa(write(tmp_path, pickle.dumps(value))))
    assert "\n" not in str(caught.value)


BAD_FILES = {
    "empty": (b"", "expected a pickle, got an empty file"),
    "text": (b"question\tanswer\n", "expected a "),
    "cut_zip": (PACKINGS["zip"][:-30], "expected a whole zip file"),
    "damaged_zip": (PACKINGS["zip"].replace(PACKINGS["zip"][45:55], b"\xff" * 10), "expected a whole zip file"),
    "zip_of_two": (zipped({"a.pkl": PLAIN, "b.pkl": PLAIN}), "expected one .pkl file in the zip, got 'a.pkl', 'b.pkl'"),
    "zip_of_none": (zipped({"readme.md": b"text"}), "expected one .pkl file in the zip, got none"),
    "cut_gzip": (PACKINGS["gzip"][:-9], "expected a whole gzip file"),
}


@pytest.mark.parametrize(("data", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_read_yahoocqa_refuses_damaged_files(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_yahoocqa(write(tmp_path, data), "train"))
    assert f"env.pkl: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [zipped({"env.pkl": bytes(10**6)}), gzip.compress(bytes(10**6))], ids=["zip", "gzip"])
def test_read_yahoocqa_stops_unpacking_a_bomb(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match="expected at most 10,000 bytes unpacked, got more"):
        list(read_yahoocqa(write(tmp_path, data), max_bytes=10_000))


def test_read_yahoocqa_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        list(read_yahoocqa(tmp_path / "none.pkl"))


def test_write_yahoocqa_comes_back(tmp_path: Path) -> None:
    questions = [*QUESTIONS, Question("train-2", "no answers ?")]
    write_yahoocqa(questions, tmp_path / "out.pkl")
    assert list(read_yahoocqa(tmp_path / "out.pkl")) == questions


def test_write_yahoocqa_refuses_what_it_cannot_tell_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"question 'b': expected a new text, got 'Why\?' again"):
        write_yahoocqa([Question("a", "Why?"), Question("b", "Why?")], tmp_path / "out.pkl")
    with pytest.raises(DataError, match="question 'a', candidate 'c': expected label 0 or 1, got None"):
        write_yahoocqa([Question("a", "Why?", (Candidate("c", "So."),))], tmp_path / "out.pkl")
    assert list(tmp_path.iterdir()) == []
