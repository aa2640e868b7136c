from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from anselect.data.files import copy_folder, file_sha256, read_json_object, read_lines, write_bytes, write_text
from anselect.errors import DataError, MissingFileError, UsageError


def lines_of(path: Path) -> list[tuple[int, str]]:
    return list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb\n", [(1, "a"), (2, "b")]),
        (b"a\r\nb\r\n", [(1, "a"), (2, "b")]),
        (b"\xef\xbb\xbfa\nb", [(1, "a"), (2, "b")]),
        ("a\u2028b\x0cc\rd\n".encode(), [(1, "a\u2028b\x0cc\rd")]),
        (b"", []),
    ],
    ids=["lf", "crlf", "bom", "odd_line_ends_inside", "empty"],
)
def test_read_lines_splits_at_lf_only(tmp_path: Path, content: bytes, expected: list[tuple[int, str]]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert lines_of(path) == expected


def test_read_lines_reads_gzip_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    assert lines_of(path) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"a\n" * 10_000, mtime=0)[:-20],
        gzip.compress(b"a\n" * 10_000, mtime=0)[:20] + b"\xff" * 20,
        gzip.compress(b"a\n", mtime=0)[:-8] + b"\0" * 8,
    ],
    ids=["cut", "garbage_inside", "wrong_checksum"],
)
def test_read_lines_refuses_a_damaged_gzip(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected a whole gzip file"):
        lines_of(path)


def test_read_lines_names_the_line_of_a_wrong_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"a\.txt:2: expected utf-8 text, got byte 0xe9"):
        lines_of(path)


def test_read_lines_tells_a_folder_from_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="is a folder, expected a file: name the file in it"):
        lines_of(tmp_path)
    with pytest.raises(MissingFileError, match="none: no such file, expected one to read: check the path"):
        lines_of(tmp_path / "none")


def test_write_text_appears_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"

    def write_and_fail() -> None:
        with write_text(path) as file:
            file.write("half")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        write_and_fail()
    assert list(path.parent.iterdir()) == []


def test_write_text_replaces_the_old_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with write_text(path) as file:
        file.write("né\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "né\n".encode()
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]


def write_to(path: Path) -> None:
    with write_text(path) as file:
        file.write("a")


def test_write_text_writes_through_links_and_into_pipes(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with write_text(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with write_text(pipe) as file:
            file.write("through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_read_lines_tells_utf_16_from_other_binary_data(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("question\tcandidate", encoding="utf-16")
    with pytest.raises(DataError, match="got UTF-16: convert the file to UTF-8"):
        list(read_lines(path))
    path.write_bytes(b"PK\0\0")
    with pytest.raises(DataError, match="binary data"):
        list(read_lines(path))


def test_write_text_refuses_the_name_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(UsageError, match="a: expected a file to write, got a folder: name a file in it"):
        write_to(tmp_path / "a")
    assert [found.name for found in tmp_path.iterdir()] == ["a"]


def test_write_text_names_the_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)  # a name of its own, but no room for what stands around it while it is written
    with pytest.raises(OSError, match="name too long") as caught:
        write_to(path)
    assert (caught.value.filename, caught.value.filename2) == (str(path), None)


def test_write_text_leaves_the_errors_of_others_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, write_text(tmp_path / "a"):
        (tmp_path / "b").read_text()
    assert caught.value.filename == str(tmp_path / "b")


def test_file_sha256_is_the_known_one(tmp_path: Path) -> None:
    with write_bytes(tmp_path / "a") as file:
        file.write(b"abc")
    assert file_sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_read_json_object_returns_what_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": [1, "é"]}', encoding="utf-8")
    assert read_json_object(tmp_path / "a.json", "copy it anew") == {"a": [1, "é"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"a\.json: expected JSON, got a damaged file \(.*\): copy it anew"),
        (b"", r"expected JSON, got a damaged file \(.*\): copy it anew"),
        (b'{"a": "\xff\xfe"}', r"expected JSON, got a damaged file \(.*\): copy it anew"),
        (b"[]", "expected a JSON object, got list: copy it anew"),
        (b"null", "expected a JSON object, got NoneType: copy it anew"),
    ],
    ids=["cut", "empty", "wrong_encoding", "list", "null"],
)
def test_read_json_object_names_the_file_and_the_repair(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_json_object(tmp_path / "a.json", "copy it anew")


def test_read_json_object_says_that_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"a\.json: no such file"):
        read_json_object(tmp_path / "a.json", "copy it anew")


def test_copied_folder_takes_the_place_of_the_old_one_as_a_whole(tmp_path: Path) -> None:
    for name, file in (("new", "a"), ("old", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(name)
    copy_folder(tmp_path / "new", tmp_path / "old")
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {
        "new/a",
        "old/a",
    }
    with pytest.raises(FileNotFoundError):
        copy_folder(tmp_path / "none", tmp_path / "old")
    assert (tmp_path / "old" / "a").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]
