from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from anselect.cli.compare import compare
from anselect.errors import AnselectError, DataError, MissingFileError, UsageError

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "Who wrote it?",
        "candidates": [{"id": "a", "text": "She wrote it.", "label": 1}, {"id": "b", "text": "It rains.", "label": 0}],
    },
    {
        "id": "q2",
        "question": "Where is it?",
        "candidates": [{"id": "a", "text": "Nobody knows.", "label": 0}, {"id": "b", "text": "x" * 200, "label": 1}],
    },
    {"id": "q3", "question": "Why?", "candidates": [{"id": "a", "text": "So.", "label": 0}]},
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS), encoding="utf-8")
    return str(path)


def write_run(path: Path, rows: str) -> str:
    path.write_text("\n".join(rows.split()).replace(",", "\t") + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return write_run(tmp_path / "old.tsv", "q1,a,0.1 q1,b,0.9 q2,a,0.8 q2,b,0.3 q3,a,0.5")


@pytest.fixture
def new(tmp_path: Path) -> str:
    return write_run(tmp_path / "new.tsv", "q1,a,0.9 q1,b,0.1 q2,a,0.8 q2,b,0.3 q3,a,0.5")


def run(*arguments: str, stdin: str = "") -> Result:
    app = typer.Typer()
    app.command()(compare)
    return CliRunner().invoke(app, list(arguments), input=stdin)


def test_json_has_everything(data: str, old: str, new: str) -> None:
    done = run(old, new, "--data", data, "--format", "json")
    found = json.loads(done.stdout)
    assert {key: found[key] for key in ("data", "split", "protocol", "measure", "questions", "resolution", "seed")} == {
        "data": data,
        "split": "test",
        "protocol": "answerable",
        "measure": "MAP",
        "questions": 2,
        "resolution": 0.5,
        "seed": 0,
    }
    assert found["runs"] == [
        {"run": old, "value": 0.5, "worst": 0.5, "best": 0.5, "tied_pairs": 0, "missing": 0},
        {"run": new, "value": 0.75, "worst": 0.75, "best": 0.75, "tied_pairs": 0, "missing": 0},
    ]
    (pair,) = found["comparisons"]
    assert (pair["run"], pair["baseline"], pair["difference"], pair["low"], pair["high"]) == (new, old, 0.25, 0.0, 0.5)
    assert (pair["p_t_test"], pair["p_randomisation"], pair["is_exact"]) == (pytest.approx(0.5), 1.0, True)
    assert (pair["wins"], pair["losses"], pair["ties"]) == (1, 0, 1)
    (contrast,) = found["most_different"]
    assert (contrast["question_id"], contrast["question"]) == ("q1", "Who wrote it?")
    assert contrast["runs"][0] == {
        "run": old,
        "value": 0.5,
        "answer_rank": 2.0,
        "top": {"candidate_id": "b", "text": "It rains.", "is_correct": False, "tied": 1, "tied_correct": 0},
    }
    assert found["per_question"] == [
        {"question_id": "q1", "values": {old: 0.5, new: 1.0}},
        {"question_id": "q2", "values": {old: 0.5, new: 0.5}},
    ]


def test_note_tells_questions_and_resolution(data: str, old: str, new: str) -> None:
    done = run(old, new, "--data", data)
    assert done.stderr == (
        "note: 2 questions count under protocol 'answerable': one of them that goes from 0 to 1 moves MAP by 0.5000\n"
    )


def test_table_shows_means_tests_and_questions(data: str, old: str, new: str) -> None:
    shown = run(old, new, "--data", data).stdout
    for cell in ("+0.2500", "+0.0000 … +0.5000", "q1: Who wrote it?", "She wrote it.", "correct", "wrong"):
        assert cell in shown


def test_table_cuts_long_texts_and_wins_0_hides_questions(data: str, old: str, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other.tsv", "q1,a,0.1 q1,b,0.9 q2,a,0.3 q2,b,0.8 q3,a,0.5")
    shown = run(old, other, "--data", data).stdout
    assert "x" * 89 + "…" in shown
    assert "x" * 90 not in shown
    assert "Where is it?" not in run(old, other, "--data", data, "--wins", "0").stdout


def test_small_p_values_are_not_shown_as_0(tmp_path: Path) -> None:
    candidates = [{"id": "a", "text": "a", "label": 1}, {"id": "b", "text": "b", "label": 0}]
    names = [f"q{place}" for place in range(16)]
    data = tmp_path / "many.jsonl"
    rows = [json.dumps({"id": name, "question": "?", "candidates": candidates}) for name in names]
    data.write_text("\n".join(rows) + "\n", encoding="utf-8")
    old = write_run(tmp_path / "o.tsv", " ".join(f"{name},a,0 {name},b,1" for name in names))
    new = write_run(tmp_path / "n.tsv", " ".join(f"{name},a,1 {name},b,0" for name in names))
    assert "<0.0001" in run(old, new, "--data", str(data)).stdout
    header, row = run(old, new, "--data", str(data), "--format", "tsv").stdout.splitlines()
    cells = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert float(cells["p_randomisation"]) == 2 / 2**16
    assert (cells["difference"], cells["p_t_test"], cells["wins"]) == ("0.5", "-", "16")


def test_jsonl_has_a_line_per_pair(data: str, old: str, new: str) -> None:
    lines = run(old, new, "constant", "--data", data, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["run"] for line in lines] == [new, "constant", "constant"]


def test_baseline_is_added_to_the_runs(data: str, new: str) -> None:
    done = run(new, "--data", data, "--baseline", "BM25", "--measure", "MRR", "--format", "json")
    found = json.loads(done.stdout)
    assert [(pair["run"], pair["baseline"]) for pair in found["comparisons"]] == [(new, "BM25")]
    assert found["measure"] == "MRR"


def test_tie_on_top_is_told(data: str, old: str) -> None:
    assert "1 of 2 tied correct" in run(old, "constant", "--data", data).stdout


def test_run_is_read_from_stdin(data: str, old: str) -> None:
    done = run("-", old, "--data", data, "--format", "json", stdin=Path(old).read_text(encoding="utf-8"))
    assert json.loads(done.stdout)["comparisons"][0]["p_randomisation"] == 1.0


def test_missing_candidates_and_doubtful_protocols_are_warned_of(data: str, old: str, tmp_path: Path) -> None:
    short = write_run(tmp_path / "short.tsv", "q1,a,0.1 q1,b,0.9 q2,a,0.8 q2,b,0.3")
    done = run(old, short, "--data", data, "--protocol", "cete")
    assert f"warning: {short}: the run lacks 1 of 5 candidates" in done.stderr
    assert "warning: protocol 'cete': worthless where scores tie" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param(["OLD"], UsageError, "expected two or more runs to compare, got 1", id="one_run"),
        pytest.param(["OLD", "OLD"], UsageError, "more than once", id="same_run_twice"),
        pytest.param(["OLD", "none.trec"], MissingFileError, "none.trec: no such file", id="no_such_run"),
        pytest.param(["OLD", "BM25", "--protocol", "all"], UsageError, "got 'all': use answerable", id="all_protocols"),
        pytest.param(["OLD", "BM25", "--protocol", "new"], UsageError, "unknown protocol 'new'", id="unknown_protocol"),
        pytest.param(["OLD", "BM25", "--measure", "F1"], UsageError, "unknown measure 'F1'", id="unknown_measure"),
        pytest.param(["OLD", "STRANGE"], DataError, "strange.tsv:2: .*question 'q9'", id="unknown_ids"),
    ],
)
def test_mistakes_are_explained(
    data: str, old: str, tmp_path: Path, arguments: list[str], error: type[AnselectError], message: str
) -> None:
    places = {"OLD": old, "STRANGE": write_run(tmp_path / "strange.tsv", "q1,a,0.5 q9,a,0.5")}
    done = run(*(places.get(argument, argument) for argument in arguments), "--data", data)
    assert done.stdout == ""
    assert isinstance(done.exception, error)
    with pytest.raises(error, match=message):
        raise done.exception


def test_folder_of_a_trained_run_stands_for_its_ranking(data: str, old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "test.trec").write_text(Path(new).read_text())
    names = [
        row["run"]
        for row in json.loads(run(old, str(tmp_path / "trained"), "--data", data, "--format", "json").stdout)["runs"]
    ]
    assert names == [old, str(tmp_path / "trained" / "test.trec")]
