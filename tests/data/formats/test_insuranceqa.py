from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from anselect.data.formats.insuranceqa import read_insuranceqa, read_insuranceqa_archive
from anselect.data.locate import read_split
from anselect.errors import DataError

ANSWERS = {str(number): {"zh": "…", "en": f" Answer \u00a0 {number}. "} for number in (2, 10, 30)}
QUESTIONS = {"0": {"zh": "…", "en": "Is  It  Law?", "domain": "auto", "answers": ["10"], "negatives": ["30", "2"]}}


def packed(value: object) -> bytes:
    return gzip.compress(json.dumps(value).encode())


def write_files(folder: Path, questions: object = QUESTIONS, answers: object = ANSWERS) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "valid.json.gz").write_bytes(packed(questions))
    (folder / "answers.json.gz").write_bytes(packed(answers))
    return folder / "valid.json.gz", folder / "answers.json.gz"


def write_archive(path: Path, names: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in names.items():
            member = tarfile.TarInfo(f"insuranceqa_data-1.1/insuranceqa_data/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_questions_with_candidates_in_the_order_of_ids(tmp_path: Path) -> None:
    [question] = read_insuranceqa(*write_files(tmp_path))
    assert (question.id, question.text, question.metadata) == ("0", "Is It Law?", {"domain": "auto"})
    assert [(each.id, each.text, each.label) for each in question.candidates] == [
        ("2", "Answer 2.", 0),
        ("10", "Answer 10.", 1),
        ("30", "Answer 30.", 0),
    ]


def test_archive_is_read_as_the_files_are(tmp_path: Path) -> None:
    archive = write_archive(
        tmp_path / "a.tar.gz", {"valid.json.gz": packed(QUESTIONS), "answers.json.gz": packed(ANSWERS)}
    )
    assert list(read_insuranceqa_archive(archive, "dev")) == list(read_insuranceqa(*write_files(tmp_path)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "answers.json.gz", "valid.json.gz"]


def test_data_set_is_found_as_archive_or_files(tmp_path: Path) -> None:
    names = {"valid.json.gz": packed(QUESTIONS), "answers.json.gz": packed(ANSWERS)}
    write_archive(tmp_path / "one/insuranceqa/insuranceqa_data-1.1.tar.gz", names)
    write_files(tmp_path / "two/insuranceqa")
    first, second = (read_split("insuranceqa", "dev", data_dir=tmp_path / name) for name in ("one", "two"))
    assert first == second
    assert len(first) == 1


@pytest.mark.parametrize(
    ("questions", "answers", "message"),
    [
        ([], ANSWERS, "expected an object of objects in valid.json.gz"),
        ({"0": []}, ANSWERS, "expected an object of objects"),
        ({"0": {"en": "Why?"}}, ANSWERS, "question '0': expected"),
        (QUESTIONS, {}, "expected an answer with id '2', got none"),
    ],
)
def test_wrong_shape(questions: Any, answers: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        list(read_insuranceqa(*write_files(tmp_path, questions, answers)))


def test_no_json(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    paths[0].write_bytes(gzip.compress(b"no"))
    with pytest.raises(DataError, match=r"expected JSON in valid\.json\.gz"):
        list(read_insuranceqa(*paths))


def test_archive_without_the_file_and_damaged_archive(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar.gz", {"answers.json.gz": packed(ANSWERS)})
    with pytest.raises(DataError, match=r"expected test\.json\.gz in the archive, got none"):
        list(read_insuranceqa_archive(archive, "test"))
    (tmp_path / "b.tar.gz").write_bytes(archive.read_bytes()[:60])
    with pytest.raises(DataError, match=r"expected a whole tar\.gz"):
        list(read_insuranceqa_archive(tmp_path / "b.tar.gz", "test"))
    (tmp_path / "c.tar.gz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"expected a whole tar\.gz"):
        list(read_insuranceqa_archive(tmp_path / "c.tar.gz", "test"))
