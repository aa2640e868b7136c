"""The command's frame: version, help, doctor, rank, and how mistakes end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import anselect


def run(*arguments: str, stdin: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anselect", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)


def test_version_is_printed() -> None:
    assert run("--version").stdout == f"anselect {anselect.__version__}\n"


def test_help_shows_examples() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert "anselect evaluate run.trec" in done.stdout


@pytest.mark.parametrize(("arguments", "command"), [([], "doctor"), (["data"], "audit")])
def test_help_is_shown_as_it_is_where_a_command_is_missing(arguments: list[str], command: str) -> None:
    done = run(*arguments)
    shown = done.stdout + done.stderr
    assert done.returncode == 2
    assert "error:" not in shown
    assert any(line.startswith(f"  {command} ") for line in shown.splitlines())
    assert shown.strip() == run(*arguments, "--help").stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["bogus"], 2, "error: No such command 'bogus'. Try 'anselect --help'."),
        (["rank"], 2, "error: Missing argument 'question'. Try 'anselect --help'."),
        (
            ["rank", "q?"],
            2,
            "error: expected candidates, got none: give them after the question or with --candidates FILE",
        ),
        (["rank", " ", "a"], 2, "error: expected a question, got blank text"),
        (
            ["rank", "q?", "--candidates", "no-such-file"],
            4,
            "error: no-such-file: no such file, expected one to read: check the path",
        ),
    ],
)
def test_mistake_ends_in_one_line_and_its_exit_code(arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1] == message
    assert "Traceback" not in done.stderr


def test_rank_reads_candidates_from_stdin_and_prints_json() -> None:
    done = run(
        "rank",
        "who invented radio",
        "--candidates",
        "-",
        "--format",
        "json",
        stdin="It rains.\n\nMarconi invented radio.\n",
    )
    rows = json.loads(done.stdout)
    assert [(row["rank"], row["index"], row["text"]) for row in rows] == [
        (1, 1, "Marconi invented radio."),
        (2, 0, "It rains."),
    ]
    assert "ranked by the bundled model" in done.stderr


@pytest.mark.parametrize("output_format", ["table", "tsv", "jsonl"])
def test_rank_prints_the_best_first_in_every_format(output_format: str) -> None:
    done = run(
        "rank", "who invented radio", "It rains.", "Marconi invented radio.", "--top-k", "1", "--format", output_format
    )
    assert done.returncode == 0
    assert "Marconi invented radio." in done.stdout
    assert "It rains." not in done.stdout


def test_binary_candidates_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "candidates.txt"
    path.write_bytes(b"fine\n\x00\x01\n")
    done = run("rank", "q?", "--candidates", str(path))
    assert done.returncode == 5
    assert f"{path}:2: expected text, got binary data" in done.stderr


def test_doctor_tells_what_is_installed_and_that_ranking_works() -> None:
    done = run("doctor", "--format", "json")
    rows = {row["check"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0
    assert rows["ranking"]["state"] == "ok"
    assert "numpy" in rows["core"]["detail"]
    assert rows["anselect"]["detail"] == anselect.__version__
