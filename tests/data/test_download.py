from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from anselect.data import download as module
from anselect.data.download import Patience, download
from anselect.errors import DownloadError, HashMismatchError, UsageError

CONTENT = bytes(range(256)) * 2000
CONTENT_SHA256 = sha256(CONTENT).hexdigest()
AT_ONCE = Patience(attempts=3, first_wait_seconds=0, timeout_seconds=10)


@dataclass
class Site:
    """What the server does next, and what it was asked for."""

    content: bytes = CONTENT
    etag: str | None = '"1"'
    has_ranges: bool = True
    has_length: bool = True
    statuses: list[int] = field(default_factory=list)
    """Answers to give before the file is served at all."""
    breaks: list[int] = field(default_factory=list)
    """After how many bytes each of the next answers breaks off."""
    content_range: str | None = None
    """A wrong Content-Range to give."""
    asked: list[str | None] = field(default_factory=list)
    """The Range of each request."""
    stall: Event | None = None
    """Where given, a broken answer keeps the connection open until it is set."""
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        site = self.site
        wanted = self.headers.get("Range")
        site.asked.append(wanted)
        if site.statuses:
            self.send_error(site.statuses.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and site.has_ranges else 0
        if start >= len(site.content):
            self.send_error(416)
            return
        body = site.content[start:]
        self.send_response(206 if start else 200)
        if start:
            given = f"bytes {start}-{len(site.content) - 1}/{len(site.content)}"
            self.send_header("Content-Range", site.content_range or given)
        if site.has_length:
            self.send_header("Content-Length", str(len(body)))
        if site.etag:
            self.send_header("ETag", site.etag)
        self.end_headers()
        cut = site.breaks.pop(0) if site.breaks else len(body)
        self.wfile.write(body[:cut])
        if site.stall and cut < len(body):
            self.wfile.flush()
            site.stall.wait()

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"site": site}))
    site.url = f"http://127.0.0.1:{server.server_port}/file.bin"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    if site.stall:
        site.stall.set()
    server.shutdown()
    server.server_close()
    thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_whole_download_stands_under_its_name(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    target = tmp_path / "new" / "file.bin"
    got = download(site.url, target, sha256=(CONTENT_SHA256,), progress=lambda *step: seen.append(step))
    assert got == CONTENT_SHA256
    assert target.read_bytes() == CONTENT
    assert names(target.parent) == ["file.bin"]
    assert site.asked == [None]
    assert (seen[0], seen[-1]) == (("file.bin", 0, len(CONTENT)), ("file.bin", len(CONTENT), len(CONTENT)))


def test_dropped_connection_is_resumed(site: Site, tmp_path: Path) -> None:
    site.breaks = [100_000, 50_000]
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert site.asked == [None, "bytes=100000-", "bytes=150000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert names(tmp_path) == ["file.bin"]


def test_silent_connection_is_resumed(site: Site, tmp_path: Path) -> None:
    site.breaks, site.stall = [131_072], Event()
    patience = Patience(attempts=3, first_wait_seconds=0, timeout_seconds=2)
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=patience)
    assert site.asked == [None, "bytes=131072-"]


def test_resumed_download_needs_no_hash_to_be_right(site: Site, tmp_path: Path) -> None:
    site.breaks = [100_000]
    assert download(site.url, tmp_path / "file.bin", patience=AT_ONCE) == CONTENT_SHA256


def test_attempts_that_bring_bytes_do_not_use_up_the_patience(site: Site, tmp_path: Path) -> None:
    site.breaks = [40_000] * 10
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert len(site.asked) == 11


def test_server_without_ranges_starts_again(site: Site, tmp_path: Path) -> None:
    site.has_ranges, site.breaks = False, [100_000]
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert site.asked == [None, "bytes=100000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_server_that_starts_again_and_breaks_off_each_time_is_given_up(site: Site, tmp_path: Path) -> None:
    site.has_ranges, site.breaks = False, [100_000, 120_000] + [90_000, 110_000] * 10
    with pytest.raises(DownloadError, match=r"broke off after 90000 of 512000 bytes \(3 attempts\)"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert len(site.asked) == 5


def test_file_changed_on_the_server_is_not_joined_to_the_old_half(site: Site, tmp_path: Path) -> None:
    site.breaks = [100_000] + [0] * 3
    with pytest.raises(DownloadError, match=r"100000 bytes are kept, run it again to go on"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    site.content, site.etag = CONTENT[::-1], '"2"'
    download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert site.asked[-2:] == ["bytes=100000-", None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[::-1]
    assert names(tmp_path) == ["file.bin"]


def test_change_of_length_alone_is_noticed(site: Site, tmp_path: Path) -> None:
    site.etag, site.breaks = None, [100_000] + [0] * 3
    with pytest.raises(DownloadError):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    site.content = CONTENT[::-1] + b"more"
    download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[::-1] + b"more"


def test_part_longer_than_the_file_is_thrown_away(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.bin.00000000.part").write_bytes(CONTENT + b"x")
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert site.asked == [f"bytes={len(CONTENT) + 1}-", None]
    assert names(tmp_path) == ["file.bin"]


def test_stale_parts_are_cleared_away_at_the_end(site: Site, tmp_path: Path) -> None:
    site.breaks = [100_000] + [0] * 3
    with pytest.raises(DownloadError):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    (tmp_path / "file.bin.00000000.part").write_bytes(b"stale")
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert site.asked[-1] == "bytes=100000-"
    assert names(tmp_path) == ["file.bin"]


def test_wrong_content_range_is_not_trusted(site: Site, tmp_path: Path) -> None:
    site.breaks, site.content_range = [100_000], f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"
    with pytest.raises(DownloadError, match=r"asked for bytes from 100000 on, got 'bytes 0-"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert not (tmp_path / "file.bin").exists()


def test_wrong_hash_is_not_kept(site: Site, tmp_path: Path) -> None:
    with pytest.raises(HashMismatchError) as caught:
        download(site.url, tmp_path / "file.bin", sha256=("0" * 64, "1" * 64))
    message = str(caught.value)
    assert f"expected sha256 {'0' * 64} or {'1' * 64}, got {CONTENT_SHA256} from {site.url}" in message
    assert caught.value.exit_code == 5
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_refusal_is_final(site: Site, tmp_path: Path, status: int) -> None:
    site.statuses = [status]
    with pytest.raises(DownloadError, match=rf"file\.bin: expected the file, the server answered {status} "):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert len(site.asked) == 1
    assert names(tmp_path) == []


def test_busy_server_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.statuses = [503, 429]
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert len(site.asked) == 3


def test_patience_ends(site: Site, tmp_path: Path) -> None:
    site.statuses = [500] * 9
    with pytest.raises(DownloadError, match=r"the server answered 500 Internal Server Error \(3 attempts\)"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert len(site.asked) == 3


def test_waits_grow(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    site.statuses = [500] * 9
    with pytest.raises(DownloadError):
        download(site.url, tmp_path / "file.bin", patience=Patience(attempts=4, first_wait_seconds=1.5))
    assert waits == [1.5, 3.0, 6.0]


def test_no_server_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(DownloadError, match=r"no connection: .*refused.* \(3 attempts\)"):
        download("http://127.0.0.1:9/file.bin", tmp_path / "file.bin", patience=AT_ONCE)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "example.org/x"])
def test_only_http_addresses_are_taken(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="expected an address that starts with http"):
        download(url, tmp_path / "file.bin")


def test_announced_size_beyond_the_limit_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(DownloadError, match=r"expected at most 1000 bytes, the server announces 512000"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)


def test_unannounced_size_beyond_the_limit_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    site.has_length = False
    with pytest.raises(DownloadError, match=r"expected at most 1000 bytes, more came"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    assert not (tmp_path / "file.bin").exists()


def test_download_without_length_is_taken_to_its_end(site: Site, tmp_path: Path) -> None:
    site.has_length = False
    assert download(site.url, tmp_path / "file.bin") == CONTENT_SHA256


def test_folder_that_cannot_be_made_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(DownloadError, match=r"taken.*: cannot write: .*: free space, or choose another folder"):
        download(site.url, tmp_path / "taken" / "file.bin", patience=AT_ONCE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_named(site: Site, tmp_path: Path) -> None:
    site.breaks = [100_000] + [0] * 3
    with pytest.raises(DownloadError):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)
    (part,) = tmp_path.iterdir()
    part.unlink()
    part.symlink_to("/dev/full")
    with pytest.raises(DownloadError, match="No space left on device: free space"):
        download(site.url, tmp_path / "file.bin", patience=AT_ONCE)


def test_killed_download_leaves_a_part_that_the_next_run_resumes(site: Site, tmp_path: Path) -> None:
    site.breaks, site.stall = [131_072], Event()
    code = "import sys, pathlib; from anselect.data.download import download; "
    code += "download(sys.argv[1], pathlib.Path(sys.argv[2]))"
    command = [sys.executable, "-c", code, site.url, str(tmp_path / "file.bin")]
    with subprocess.Popen(command, env=os.environ | {"no_proxy": "*"}) as process:
        while process.poll() is None and sum(path.stat().st_size for path in tmp_path.iterdir()) < 65_536:
            time.sleep(0.02)
        process.kill()
    (part,) = tmp_path.iterdir()
    assert part.name.startswith("file.bin.")
    assert part.suffix == ".part"
    kept = part.stat().st_size
    site.stall.set()
    download(site.url, tmp_path / "file.bin", sha256=(CONTENT_SHA256,), patience=AT_ONCE)
    assert site.asked == [None, f"bytes={kept}-"]
    assert names(tmp_path) == ["file.bin"]
