from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import typer
from typer.testing import CliRunner

from anselect.cli.data_fetch import fetch
from anselect.errors import HashMismatchError, UsageError

NAMES = ["SemEval2017-task3-English-test-subtaskA.xml", "SemEval2017-task3-English-test.xml"]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    for name in ("semeval2017", "trecqa"):
        (tmp_path / "mirror" / name).mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "mirror" / "semeval2017" / "semeval2017_task3_test.zip", "w") as archive:
        for name in NAMES:
            archive.writestr(f"SemEval2017_task3_test/English/{name}", "<xml/>")
    (tmp_path / "mirror" / "trecqa" / "TRAIN.xml").write_text("not it")
    handler = partial(QuietHandler, directory=str(tmp_path / "mirror"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_fetch_prints_paths_on_stdout_and_terms_on_stderr(
    mirror: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch("semeval2017", data_dir=tmp_path / "data", accept_licence=True, base_url=mirror)
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [str(tmp_path / "data" / "semeval2017" / name) for name in NAMES]
    assert all(Path(line).is_file() for line in captured.out.splitlines())
    assert "licence: free for general research use" in captured.err
    assert "cite: Nakov" in captured.err
    assert "no sha256 is recorded for it; its sha256 is " in captured.err
    assert "anselect data fetch semeval2016" in captured.err


def test_terms_come_before_the_download(mirror: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HashMismatchError):
        fetch("trecqa", data_dir=tmp_path / "data", accept_licence=True, base_url=mirror)
    assert "NIST and LDC agreements govern the documents" in capsys.readouterr().err


def test_default_place_is_the_first_root(mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSELECT_DATA", str(tmp_path / "named"))
    fetch("semeval2017", accept_licence=True, base_url=mirror)
    assert (tmp_path / "named" / "semeval2017" / NAMES[0]).is_file()


def test_mirror_may_be_named_by_variable(mirror: str, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(fetch)
    arguments = ["semeval2017", "--data-dir", str(tmp_path / "data")]
    result = CliRunner().invoke(app, arguments, env={"ANSELECT_MIRROR": mirror})
    assert result.exit_code == 0
    assert (tmp_path / "data" / "semeval2017" / NAMES[0]).is_file()


@pytest.mark.parametrize(("answer", "is_fetched"), [("y\n", True), ("n\n", False)])
def test_terminal_is_asked_first(
    mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_fetched: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", terminal)
    if is_fetched:
        fetch("semeval2017", data_dir=tmp_path / "data", base_url=mirror)
    else:
        with pytest.raises(typer.Exit) as refused:
            fetch("semeval2017", data_dir=tmp_path / "data", base_url=mirror)
        assert refused.value.exit_code == 2
        assert terminal.getvalue().endswith("note: the terms were not accepted: nothing was downloaded\n")
    assert (tmp_path / "data").exists() == is_fetched


def test_progress_bar_is_shown_on_a_terminal(mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    fetch("semeval2017", data_dir=tmp_path / "data", accept_licence=True, base_url=mirror)
    assert "semeval2017_task3_test.zip" in terminal.getvalue()


def test_unknown_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'semeval2017'"):
        fetch("semeval-2017", data_dir=tmp_path)
