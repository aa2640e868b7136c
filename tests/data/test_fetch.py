from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from anselect.data import fetch as module
from anselect.data.catalogue import DataFile, HashStatus, find_dataset
from anselect.data.download import Patience
from anselect.data.fetch import Fetching, fetch_dataset, unpack
from anselect.data.files import file_sha256
from anselect.data.locate import find_sources, read_split
from anselect.errors import DataError, DownloadError, HashMismatchError, PartlyDoneError, UsageError

SEMEVAL = """<?xml version="1.0" encoding="utf-8"?>
<xml><Thread THREAD_SEQUENCE="Q1_R1">
<RelQuestion RELQ_ID="Q1_R1" RELQ_CATEGORY="Jobs" RELQ_DATE="2012" RELQ_USERID="U1" RELQ_USERNAME="user">
<RelQSubject>Work</RelQSubject><RelQBody>Any?</RelQBody></RelQuestion>
<RelComment RELC_ID="Q1_R1_C1" RELC_DATE="2012" RELC_USERID="U2" RELC_USERNAME="user" RELC_RELEVANCE2RELQ="Good">
<RelCText>Yes.</RelCText></RelComment></Thread></xml>
"""
SEMEVAL2017 = ("SemEval2017-task3-English-test-subtaskA.xml", "SemEval2017-task3-English-test.xml")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def serve(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """The folder that is served: `<mirror>/<data set>/<file>`."""
    folder = tmp_path / "mirror"
    for name in ("wikiqa", "trecqa", "yahoocqa", "semeval2015", "semeval2017"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture
def options(mirror: Path, no_proxy: None) -> Iterator[Fetching]:
    for url in serve(mirror):
        yield Fetching(base_url=url + "/", patience=Patience(attempts=2, first_wait_seconds=0))


def zipped(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def put_semeval2017(mirror: Path, files: dict[str, str | bytes]) -> None:
    (mirror / "semeval2017" / "semeval2017_task3_test.zip").write_bytes(zipped(files))


def test_archive_is_unpacked_and_read(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    put_semeval2017(mirror, {f"SemEval2017_task3_test/English/{name}": SEMEVAL for name in SEMEVAL2017})
    fetched = fetch_dataset("semeval2017", tmp_path / "data", options)
    assert {file.path.name for file in fetched} == set(SEMEVAL2017)
    assert {(file.status, file.was_there, file.sha256) for file in fetched} == {
        (HashStatus.unrecorded, False, sha256(SEMEVAL.encode()).hexdigest())
    }
    assert sorted(path.name for path in (tmp_path / "data" / "semeval2017").iterdir()) == sorted(SEMEVAL2017)
    assert [question.id for question in read_split("semeval2017", "test", data_dir=tmp_path / "data")] == ["Q1_R1"]


def test_second_fetch_downloads_nothing(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    put_semeval2017(mirror, dict.fromkeys(SEMEVAL2017, SEMEVAL))
    fetch_dataset("semeval2017", tmp_path, options)
    (mirror / "semeval2017" / "semeval2017_task3_test.zip").unlink()
    assert {file.was_there for file in fetch_dataset("semeval2017", tmp_path, options)} == {True}


def test_archive_that_is_there_is_used_and_kept(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    put_semeval2017(tmp_path / "mirror", dict.fromkeys(SEMEVAL2017, SEMEVAL))
    (tmp_path / "semeval2017").mkdir()
    archive = (mirror / "semeval2017" / "semeval2017_task3_test.zip").rename(
        tmp_path / "semeval2017" / "semeval2017_task3_test.zip"
    )
    assert len(fetch_dataset("semeval2017", tmp_path, options)) == 2
    assert archive.exists()


def test_file_that_the_archive_lacks_is_named(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    put_semeval2017(mirror, {SEMEVAL2017[0]: SEMEVAL})
    with pytest.raises(PartlyDoneError, match=rf"expected {SEMEVAL2017[1]} in it, not found"):
        fetch_dataset("semeval2017", tmp_path, options)
    assert (tmp_path / "semeval2017" / SEMEVAL2017[0]).exists()


def test_plain_file_with_unrecorded_hash_is_fetched(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    (mirror / "yahoocqa" / "env.pkl.zip").write_bytes(b"a pickle in a zip")
    (file,) = fetch_dataset("yahoocqa", tmp_path, options)
    assert file.path == tmp_path / "yahoocqa" / "env.pkl.zip"
    assert (file.status, file.was_there) == (HashStatus.unrecorded, False)


def test_wrong_bytes_are_refused(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    (mirror / "trecqa" / "TRAIN.xml").write_text("not TrecQA")
    with pytest.raises(HashMismatchError, match=r"TRAIN\.xml: expected sha256 8c36007a"):
        fetch_dataset("trecqa", tmp_path, options)
    assert list((tmp_path / "trecqa").iterdir()) == []


def test_wrong_archive_is_refused_before_it_is_opened(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    (mirror / "wikiqa" / "WikiQACorpus.zip").write_bytes(zipped({"WikiQACorpus/WikiQA-train.tsv": "x"}))
    with pytest.raises(HashMismatchError, match=r"WikiQACorpus\.zip: expected sha256 467c13f9"):
        fetch_dataset("wikiqa", tmp_path, options)
    assert list((tmp_path / "wikiqa").iterdir()) == []


WIKIQA_FILES = ["WikiQA-train.tsv", "WikiQA-dev.tsv", "WikiQA-test.tsv", "LICENSE.pdf", "README.txt"]


def test_files_of_an_unknown_archive_are_checked(tmp_path: Path) -> None:
    (tmp_path / "wikiqa").mkdir()
    (tmp_path / "wikiqa" / "WikiQACorpus.zip").write_bytes(zipped(dict.fromkeys(WIKIQA_FILES, "x")))
    with pytest.raises(HashMismatchError, match=r"WikiQA-train\.tsv: expected sha256 baf373f4.* in the archive"):
        fetch_dataset("wikiqa", tmp_path)
    assert [path.name for path in (tmp_path / "wikiqa").iterdir()] == ["WikiQACorpus.zip"]


def test_files_of_the_publishers_archive_are_taken_as_they_are(
    mirror: Path, options: Fetching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = zipped(dict.fromkeys(WIKIQA_FILES, "x"))
    (mirror / "wikiqa" / "WikiQACorpus.zip").write_bytes(content)
    archives = find_dataset("wikiqa").archives
    assert isinstance(archives, dict)
    archive = DataFile("WikiQACorpus.zip", sha256=(sha256(content).hexdigest(),))
    monkeypatch.setitem(archives, "WikiQACorpus.zip", archive)
    fetched = {file.path.name: file.status for file in fetch_dataset("wikiqa", tmp_path, options)}
    assert fetched.keys() == set(WIKIQA_FILES)
    assert fetched["WikiQA-dev.tsv"] is HashStatus.changed
    assert not (tmp_path / "wikiqa" / "WikiQACorpus.zip").exists()


def test_users_own_file_is_not_overwritten(options: Fetching, tmp_path: Path) -> None:
    (tmp_path / "trecqa").mkdir()
    (tmp_path / "trecqa" / "TRAIN.xml").write_text("mine")
    with pytest.raises(HashMismatchError, match="move it away to fetch it anew"):
        fetch_dataset("trecqa", tmp_path, options)
    assert (tmp_path / "trecqa" / "TRAIN.xml").read_text() == "mine"


def test_missing_file_on_the_mirror_is_named(options: Fetching, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"/yahoocqa/env\.pkl\.zip: expected the file, the server answered 404"):
        fetch_dataset("yahoocqa", tmp_path, options)


def test_data_set_without_address_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        fetch_dataset("semeval2015", tmp_path)
    assert "get it from http://alt.qcri.org/semeval2015/task3/" in str(caught.value)
    assert str(tmp_path / "semeval2015") in str(caught.value)


def test_data_set_without_address_comes_from_a_mirror(mirror: Path, options: Fetching, tmp_path: Path) -> None:
    names = ["CQA-QL-train.xml", "CQA-QL-devel.xml", "CQA-QL-test.xml"]
    for name in names:
        (mirror / "semeval2015" / name).write_text("<root/>")
    assert [file.path.name for file in fetch_dataset("semeval2015", tmp_path, options)] == names


def test_next_address_is_tried_when_the_first_fails(
    mirror: Path, options: Fetching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mirror / "second.zip").write_bytes(b"a pickle in a zip")
    urls = tuple(f"{options.base_url}{name}" for name in ("first.zip", "second.zip"))
    dataset = find_dataset("yahoocqa")
    assert isinstance(dataset.files, dict)
    monkeypatch.setitem(dataset.files, "env.pkl.zip", DataFile("env.pkl.zip", urls=urls))
    (file,) = fetch_dataset("yahoocqa", tmp_path, Fetching(patience=options.patience))
    assert file.path.read_bytes() == b"a pickle in a zip"


def test_unknown_data_set_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'wikiqa'"):
        fetch_dataset("wikiq", tmp_path)


def test_mirror_must_be_http(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an address that starts with http"):
        fetch_dataset("yahoocqa", tmp_path, Fetching(base_url="file:///etc"))


def test_real_trecqa_comes_whole_from_a_mirror(benchmark_data: Path, tmp_path: Path, no_proxy: None) -> None:
    for url in serve(benchmark_data / "original"):
        fetched = fetch_dataset("trecqa", tmp_path, Fetching(base_url=url))
    assert {file.status for file in fetched} == {HashStatus.published}
    assert len(fetched) == 9
    assert len(find_sources("trecqa", "train-all", tmp_path)[0].paths) == 6
    assert len(read_split("trecqa", "test", data_dir=tmp_path)) == 100


def write_zip(path: Path, files: dict[str, str | bytes]) -> Path:
    path.write_bytes(zipped(files))
    return path


def test_unpack_never_leaves_the_folder(tmp_path: Path) -> None:
    names = ["../../evil.txt", "/evil.txt", "..\\evil.txt", "C:\\evil.txt"]
    for place, name in enumerate(names):
        folder = tmp_path / str(place) / "deep" / "er"
        folder.mkdir(parents=True)
        archive = write_zip(tmp_path / f"{place}.zip", {name: "x"})
        (file,) = unpack(archive, {"evil.txt": DataFile("evil.txt")}, folder, check=True)
        assert file.path == folder / "evil.txt"
        assert [path for path in (tmp_path / str(place)).rglob("*") if path.is_file()] == [folder / "evil.txt"]


def test_unpack_takes_the_wanted_only_and_the_one_nearest_to_the_root(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"deep/er/a.txt": "2", "deep/a.txt": "1", "deep/b.txt": "no", "a.txt/": ""}
    archive = write_zip(tmp_path / "x.zip", files)
    (file,) = unpack(archive, {"a.txt": DataFile("a.txt")}, tmp_path / "out", check=False)
    assert file.path.read_text() == "1"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


def test_unpack_checks_recorded_hashes(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "x.zip", {"a.txt": "other"})
    wanted = {"a.txt": DataFile("a.txt", sha256=("0" * 64,))}
    with pytest.raises(HashMismatchError, match=f"expected sha256 {'0' * 64}"):
        unpack(archive, wanted, tmp_path / "out", check=True)
    assert list((tmp_path / "out").iterdir()) == []
    (file,) = unpack(archive, wanted, tmp_path / "out", check=False)
    assert (file.status, file.sha256) == (HashStatus.changed, file_sha256(file.path))


def test_unpack_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    archive = write_zip(tmp_path / "bomb.zip", {"a.txt": b"0" * 1_000_000})
    with pytest.raises(DataError, match="expected at most 1000 bytes, the archive holds more"):
        unpack(archive, {"a.txt": DataFile("a.txt")}, tmp_path / "out", check=True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "no_zip", "encrypted"])
def test_damaged_archive_is_one_line(tmp_path: Path, damage: str) -> None:
    content = bytearray(zipped({"a.txt": "some text that is long enough to be compressed " * 20}))
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[45] ^= 0xFF
    elif damage == "no_zip":
        content = bytearray(b"<html>not found</html>")
    else:
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(
        DataError, match=r"x\.zip: expected a whole zip, got a damaged one \(.*\): delete it, fetch again"
    ):
        unpack(tmp_path / "x.zip", {"a.txt": DataFile("a.txt")}, tmp_path / "out", check=True)
