from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.records import Entity
from anselect.text.entity_cache import FILE_NAME, EntityCache, cache_key, default_folder

TEXT = "Bell lived in Boston."
FOUND = (Entity("Bell", "PERSON", 0, 4), Entity("Boston", "GPE", 14, 20))


def key_of(text: str) -> bytes:
    return cache_key("rules", "1", text)


def put(cache: EntityCache, *texts: str) -> None:
    cache.put({key_of(text): (Entity(text[:1], "GPE", 0, 1),) for text in texts})


def has(cache: EntityCache, *texts: str) -> list[bool]:
    return [found is not None for found in cache.get([key_of(text) for text in texts], texts)]


def test_stored_entities_come_back_and_unknown_texts_are_none(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    cache.put({key_of(TEXT): FOUND, key_of("It rings."): ()})
    keys = [key_of("new"), key_of("It rings."), key_of(TEXT)]
    assert cache.get(keys, ["new", "It rings.", TEXT]) == [None, (), FOUND]


def test_entries_outlive_the_object(tmp_path: Path) -> None:
    first = EntityCache(tmp_path)
    first.put({key_of(TEXT): FOUND})
    first.close()
    assert EntityCache(tmp_path).get([key_of(TEXT)], [TEXT]) == [FOUND]


def test_more_keys_than_one_query_takes(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    texts = [f"{number}" for number in range(12_000)]
    put(cache, *texts)
    assert len(cache) == 12_000
    assert all(has(cache, *texts))


@pytest.mark.parametrize(
    "other", [("sm", "1", "text"), ("md", "2", "text"), ("md", "1", "Text"), ("m", "d\x001", "text")]
)
def test_key_tells_tagger_version_and_text_apart(other: tuple[str, str, str]) -> None:
    assert cache_key("md", "1", "text") != cache_key(*other)


@given(text=st.text(st.characters(codec=None, categories=None)))
def test_every_text_has_a_key(text: str) -> None:
    assert len(cache_key("md", "1", text)) == 16


def test_default_folder_follows_the_user_s_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "anselect" / "entities"


def test_size_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = EntityCache(tmp_path, max_bytes=200_000, clock=lambda: now[0])
    for step in range(20):
        now[0] += 10
        put(cache, *(f"{step}-{number}" for number in range(500)))
    assert has(cache, "0-0", "19-499") == [False, True]
    cache.close()
    assert cache.file.path.stat().st_size <= 200_000


def test_entries_in_use_outlive_older_writes(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = EntityCache(tmp_path, max_bytes=100_000, clock=lambda: now[0])
    put(cache, "used", "unused")
    for step in range(20):
        now[0] += 2 * 24 * 3600
        assert has(cache, "used") == [True]
        put(cache, *(f"{step}-{number}" for number in range(200)))
    assert has(cache, "used", "unused") == [True, False]


def test_tiny_bound_stores_nothing_and_still_works(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path, max_bytes=1)
    put(cache, "a", "b")
    assert has(cache, "a") == [False]


@pytest.mark.parametrize("content", [b"no database at all" * 1_000, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_damaged_file_is_moved_aside_and_begun_anew(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    cache = EntityCache(tmp_path)
    cache.put({key_of(TEXT): FOUND})
    assert cache.get([key_of(TEXT)], [TEXT]) == [FOUND]
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged-*")] == [content]
    assert "moved to" in caplog.text


def test_page_damaged_while_in_use_costs_only_the_cache(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    texts = [f"{number}" for number in range(5_000)]
    put(cache, *texts)
    cache.close()
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * 40_000)
    assert not all(has(cache, *texts))
    put(cache, "new")
    assert has(cache, "new") == [True]


@pytest.mark.parametrize(
    "value", ["", "{", '"PERSON"', '["PERSON",0]', '["PERSON",0,99]', '["PERSON","0",4]', '["PERSON",3,3]', "[1]", "7"]
)
def test_senseless_value_counts_as_unknown(tmp_path: Path, value: str) -> None:
    cache = EntityCache(tmp_path)
    cache.put({key_of(TEXT): FOUND})
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("UPDATE entities SET found = ?", (value,))
    connection.close()
    assert cache.get([key_of(TEXT)], [TEXT]) == [None]


def test_file_of_another_layout_is_emptied(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("CREATE TABLE entities (something TEXT)")
    connection.close()
    cache = EntityCache(tmp_path)
    put(cache, "a")
    assert has(cache, "a") == [True]


def test_folder_that_cannot_be_written_means_no_cache_and_one_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    cache = EntityCache(tmp_path / "file" / "entities")
    with caplog.at_level(logging.WARNING):
        put(cache, "a")
        assert has(cache, "a") == [False]
    assert len(cache) == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "entities are not cached" in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_read_only_folder_means_no_cache(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    cache = EntityCache(tmp_path)
    put(cache, "a")
    assert has(cache, "a") == [False]


def test_database_that_is_read_only_means_no_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = EntityCache(tmp_path)
    put(cache, "a")
    cache.file.open().execute("PRAGMA query_only = ON")
    put(cache, "b")
    assert has(cache, "b") == [False]
    assert "readonly" in caplog.text


def test_threads_share_one_cache(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    names = [[f"{thread}-{number}" for number in range(50)] for thread in range(3)]
    threads = [threading.Thread(target=put, args=(cache, *texts)) for texts in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 150


WRITER = """
import sys
from pathlib import Path
from anselect.records import Entity
from anselect.text.entity_cache import EntityCache, cache_key
cache = EntityCache(Path(sys.argv[1]))
number, end = int(sys.argv[2]), int(sys.argv[3])
while number < end:
    cache.put({cache_key("rules", "1", f"{number + place}"): (Entity("x", "GPE", 0, 1),) for place in range(100)})
    number += 100
    print(number, flush=True)
"""


def start_writer(folder: Path, start: int, end: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(folder), str(start), str(end)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_two_processes_write_at_the_same_time(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, start, start + 3_000) for start in (0, 3_000)]
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert all(has(EntityCache(tmp_path), *(f"{number}" for number in range(6_000))))


@pytest.mark.parametrize("attempt", range(10))
def test_caches_that_begin_the_same_file_at_once_lose_nothing(tmp_path: Path, attempt: int) -> None:
    start = threading.Barrier(4)

    def begin(name: str) -> None:
        start.wait()
        put(EntityCache(tmp_path), name)

    threads = [threading.Thread(target=begin, args=(f"{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert has(EntityCache(tmp_path), *(f"{number}" for number in range(4))) == [True] * 4


def test_forked_child_opens_its_own_connection(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    put(cache, "parent")
    child = os.fork()
    if child == 0:
        put(cache, "child")
        os._exit(0 if has(cache, "parent", "child") == [True, True] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert has(cache, "parent", "child") == [True, True]


def test_killed_writer_leaves_whole_batches(tmp_path: Path) -> None:
    with start_writer(tmp_path, 0, 10**9) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            reported = int(writer.stdout.readline())
        time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
    cache = EntityCache(tmp_path)
    assert all(has(cache, *(f"{number}" for number in range(reported))))
    assert len(cache) % 100 == 0
    put(cache, "after")
    assert has(cache, "after") == [True]


def test_texts_are_not_stored(tmp_path: Path) -> None:
    cache = EntityCache(tmp_path)
    secret = "Bell met Zyxwvut in Boston."
    cache.put({key_of(secret): (Entity("Zyxwvut", "PERSON", 9, 16),)})
    cache.close()
    assert b"Zyxwvut" not in (tmp_path / FILE_NAME).read_bytes()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        (value,) = connection.execute("SELECT found FROM entities").fetchone()
    connection.close()
    assert json.loads(value) == ["PERSON", 9, 16]
