from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.engine.score_cache import FILE_NAME, ScoreCache, score_key


def key_of(number: int) -> bytes:
    return score_key("m", "q", f"{number}")


def put(cache: ScoreCache, *numbers: int) -> None:
    cache.put({key_of(number): (number / 2, number % 2 == 1) for number in numbers})


def has(folder: Path, *numbers: int) -> list[bool]:
    """Say which numbers are on disk."""
    found = ScoreCache(folder).get([key_of(number) for number in numbers])
    return [key_of(number) in found for number in numbers]


def test_stored_logits_come_back_exactly(tmp_path: Path) -> None:
    kept = {key_of(1): (0.1 + 0.2, True), key_of(2): (-1e-30, False)}
    ScoreCache(tmp_path).put(kept)
    assert ScoreCache(tmp_path).get([key_of(2), key_of(3), key_of(1)]) == kept


def test_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    cache = ScoreCache(max_entries=3)
    put(cache, 1, 2, 3)
    cache.get([key_of(1)])
    put(cache, 4)
    assert len(cache) == 3
    assert [key_of(number) in cache.get([key_of(number)]) for number in (1, 2, 3, 4)] == [True, False, True, True]


def test_disk_is_bounded_and_the_first_written_go_first(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, max_disk_entries=100)
    for start in range(0, 500, 50):
        put(cache, *range(start, start + 50))
    assert has(tmp_path, 0, 499) == [False, True]
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone()[0] <= 100
    connection.close()


@pytest.mark.parametrize("other", [("n", "q", "c"), ("m", "qc", ""), ("m", "", "qc"), ("m", "q", "C")])
def test_key_tells_model_question_and_candidate_apart(other: tuple[str, str, str]) -> None:
    assert score_key("m", "q", "c") != score_key(*other)


@given(text=st.text(st.characters(codec=None, categories=None)))
def test_every_text_has_a_key(text: str) -> None:
    assert len(score_key("m", text, text)) == 16


@pytest.mark.parametrize("content", [b"no database at all" * 1_000, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_damaged_file_is_moved_aside(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    put(ScoreCache(tmp_path), 1)
    assert has(tmp_path, 1) == [True]
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged-*")] == [content]
    assert "moved to" in caplog.text


def test_file_of_another_layout_is_emptied(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("CREATE TABLE scores (something TEXT)")
    connection.close()
    put(ScoreCache(tmp_path), 1)
    assert has(tmp_path, 1) == [True]


@pytest.mark.parametrize("value", ["'x'", "NULL", "x'00'"])
def test_senseless_logit_counts_as_unknown(tmp_path: Path, value: str) -> None:
    put(ScoreCache(tmp_path), 1, 2)
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute(f"UPDATE scores SET logit = {value} WHERE key = ?", (key_of(1),))
    connection.close()
    assert has(tmp_path, 1, 2) == [False, True]


def test_folder_that_cannot_be_written_costs_the_disk_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    cache = ScoreCache(tmp_path / "file" / "scores")
    with caplog.at_level(logging.WARNING):
        put(cache, 1)
        put(cache, 2)
    assert len(cache.get([key_of(1), key_of(2)])) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "scores are not cached" in caplog.text


WRITER = """
import sys
from pathlib import Path
from anselect.engine.score_cache import ScoreCache, score_key
cache = ScoreCache(Path(sys.argv[1]))
for start in range(int(sys.argv[2]), int(sys.argv[3]), 100):
    cache.put({score_key("m", "q", f"{start + place}"): (1.0, False) for place in range(100)})
"""


def test_two_processes_write_at_the_same_time(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(start), str(start + 2_000)], stderr=subprocess.PIPE
        )
        for start in (0, 2_000)
    ]
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert all(has(tmp_path, *range(4_000)))


@pytest.mark.parametrize("attempt", range(5))
def test_caches_that_begin_the_same_file_at_once_lose_nothing(tmp_path: Path, attempt: int) -> None:
    start = threading.Barrier(4)

    def begin(number: int) -> None:
        start.wait()
        put(ScoreCache(tmp_path), number)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert has(tmp_path, *range(4)) == [True] * 4


def test_forked_child_opens_its_own_connection(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path)
    put(cache, 1)
    child = os.fork()
    if child == 0:
        put(cache, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert has(tmp_path, 1, 2) == [True, True]


def test_texts_are_not_stored(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path)
    cache.put({score_key("m", "Who is Zyxwvut?", "Nobody."): (1.0, False)})
    cache.close()
    assert b"Zyxwvut" not in (tmp_path / FILE_NAME).read_bytes()
