"""Shared fixtures: where the benchmark data lies, and no network beyond this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples on every machine, however slow it is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder with the real benchmark files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("ANSELECT_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "original").is_dir():
        pytest.skip(f"benchmark data not found in {folder}: set ANSELECT_DATA")
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests reach servers on this machine only."""
    connect = socket.socket.connect

    def local_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            raise OSError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local_connect)
