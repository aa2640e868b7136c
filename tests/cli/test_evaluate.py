from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from anselect.cli.evaluate import evaluate
from anselect.data.locate import read_split
from anselect.data.protocols import PROTOCOLS
from anselect.errors import AnselectError, DataError, UsageError

app = typer.Typer()
app.command("evaluate")(evaluate)

DATA = """question_id\tquestion\tcandidate_id\tcandidate\tlabel
q1\tWho ran?\ta\tHe ran.\t1
q1\tWho ran?\tb\tNo.\t0
q1\tWho ran?\tc\tYes.\t0
q2\tWhere?\ta\tHere.\t1
q2\tWhere?\tb\tThere.\t0
q3\tWhy?\ta\tSo.\t0
"""
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\nq1 Q0 c 3 0.1 t\nq2 Q0 a 2 0.2 t\nq2 Q0 b 1 0.7 t\nq3 Q0 a 1 0.5 t\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    data, run = tmp_path / "data.jsonl", tmp_path / "run.trec"
    rows: dict[str, dict[str, Any]] = {}
    for line in DATA.splitlines()[1:]:
        question_id, question, candidate_id, candidate, label = line.split("\t")
        row = rows.setdefault(question_id, {"id": question_id, "question": question, "candidates": []})
        row["candidates"].append({"id": candidate_id, "text": candidate, "label": int(label)})
    data.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    run.write_text(RUN, encoding="utf-8")
    return str(data), str(run)


def invoke(*arguments: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def failure(*arguments: str) -> AnselectError:
    result = invoke(*arguments)
    assert isinstance(result.exception, AnselectError), result.output
    return result.exception


def test_json_is_one_object_for_one_protocol(files: tuple[str, str]) -> None:
    data, run = files
    result = invoke(run, "--data", data, "--format", "json")
    found = json.loads(result.stdout)
    assert (found["protocol"], found["questions"], found["candidates"], found["tied_pairs"]) == ("answerable", 2, 5, 0)
    assert found["measures"]["MAP"] == {"value": 0.75, "worst": 0.75, "best": 0.75}
    assert found["measures"]["P@1"]["value"] == 0.5
    assert set(found["baselines"]["constant"]) == {"MAP", "MRR"}
    assert result.stderr == ""


def test_json_is_a_list_for_all_protocols(files: tuple[str, str]) -> None:
    data, run = files
    result = invoke(run, "--data", data, "--protocol", "all", "--format", "json")
    found = {report["protocol"]: report["questions"] for report in json.loads(result.stdout)}
    assert found == {"answerable": 2, "mixed": 2, "every": 3, "trec_eval": 3, "cete": 2, "tanda": 2}
    assert "warning: protocol cete is worthless" in result.stderr
    assert "warning: protocol tanda is worthless" in result.stderr


def test_table_shows_measures_and_baselines(files: tuple[str, str]) -> None:
    data, run = files
    output = invoke(run, "--data", data).stdout
    assert "protocol answerable: 2 questions, 5 candidates, 0 tied pairs" in output
    for word in ("MAP", "0.7500", "worst", "best", "constant", "file order"):
        assert word in output


def test_table_of_all_protocols_has_a_line_for_each(files: tuple[str, str]) -> None:
    data, run = files
    lines = invoke(run, "--data", data, "--protocol", "all").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.split()][3:] == [
        name for name, protocol in PROTOCOLS.items() if protocol.for_own_files
    ]


@pytest.mark.parametrize("output_format", ["tsv", "jsonl"])
def test_other_formats_keep_one_line_per_row(files: tuple[str, str], output_format: str) -> None:
    data, run = files
    output = invoke(run, "--data", data, "--measures", "MRR, R@2", "--format", output_format).stdout
    assert len(output.splitlines()) == (3 if output_format == "tsv" else 1)
    assert "R@2" in output


def test_run_is_read_from_stdin(files: tuple[str, str]) -> None:
    program = "import typer; from anselect.cli.evaluate import evaluate; typer.run(evaluate)"
    found = subprocess.run(
        [sys.executable, "-c", program, "-", "--data", files[0], "--format", "json"],
        input=RUN.encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(found.stdout)["measures"]["MAP"]["value"] == 0.75


def test_missing_candidates_are_noted_on_stderr(files: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "short.tsv"
    run.write_text("q1\ta\t0.9\nq1\tb\t0.8\nq1\tc\t0.7\n")
    result = invoke(str(run), "--data", files[0], "--format", "json")
    assert "note: the run lacks 3 of 6 candidates" in result.stderr
    found = json.loads(result.stdout)
    assert found["missing_candidates"] == 3
    assert found["measures"]["MAP"] == {"value": 0.875, "worst": 0.75, "best": 1.0}


def test_label_scores_are_warned_of(files: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "labels.tsv"
    run.write_text("q1\ta\t1\nq1\tb\t1\nq1\tc\t0\nq2\ta\t0\nq2\tb\t0\nq3\ta\t0\n")
    result = invoke(str(run), "--data", files[0], "--format", "json")
    assert "warning: the scores look like labels, each is 0 or 1: MAP is 0.7500 on average" in result.stderr
    assert "would print 1.0000" in result.stderr


def test_per_question_file_is_written(files: tuple[str, str], tmp_path: Path) -> None:
    data, run = files
    target = tmp_path / "questions.tsv"
    invoke(run, "--data", data, "--protocol", "every", "--per-question", str(target))
    assert [line.split("\t")[1] for line in target.read_text().splitlines()] == ["question_id", "q1", "q2", "q3"]


def test_warning_and_table_show_the_same_figure(files: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "labels.tsv"
    run.write_text("q1\ta\t1\nq1\tb\t1\nq1\tc\t0\nq2\ta\t0\nq2\tb\t0\nq3\ta\t0\n")
    result = invoke(str(run), "--data", files[0], "--protocol", "every", "--format", "json")
    assert json.loads(result.stdout)["measures"]["MAP"]["value"] == 0.5
    assert "MAP is 0.5000 on average over tie orders" in result.stderr


def test_run_of_a_header_only_is_an_error(files: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "header.tsv"
    run.write_text("question_id\tcandidate_id\tscore\n")
    error = failure(str(run), "--data", files[0])
    assert (error.exit_code, str(error)[: len(f"{run}:1: ")]) == (5, f"{run}:1: ")


def test_unknown_ids_are_an_error(files: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "other.tsv"
    run.write_text("q1\tzz\t1\n")
    error = failure(str(run), "--data", files[0])
    assert isinstance(error, DataError)
    assert "other.tsv:1: " in str(error)
    assert "candidate 'zz' (line 1)" in str(error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--protocol", "best"), "unknown protocol 'best'"),
        (("--measures", "MAP,F1"), "unknown measure 'F1'"),
    ],
)
def test_bad_arguments_are_named(files: tuple[str, str], options: tuple[str, ...], message: str) -> None:
    data, run = files
    error = failure(run, "--data", data, *options)
    assert isinstance(error, UsageError)
    assert message in str(error)


def test_protocol_of_another_data_set_is_refused_before_anything_is_read() -> None:
    assert "protocol '243' is for wikiqa" in str(failure("absent.trec", "--data", "trecqa", "--protocol", "243"))


def test_protocol_help_lists_all() -> None:
    result = invoke("--protocol", "help")
    assert result.exit_code == 0
    assert all(f"\n{name}\n" in f"\n{result.stdout}" for name in PROTOCOLS)
    assert "WARNING: worthless" in result.stdout


def test_published_figures_stand_beside_a_real_result(benchmark_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "constant.tsv"
    questions = read_split("trecqa", "test", data_dir=benchmark_data)
    run.write_text("".join(f"{each.id}\t{own.id}\t0\n" for each in questions for own in each.candidates))
    arguments = (str(run), "--data", "trecqa", "--data-dir", str(benchmark_data))
    found = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert (found["protocol"], round(found["measures"]["MAP"]["value"], 4)) == ("clean", 0.399)
    assert {"paper": "BAS", "system": "base+rnn+uncased", "map": 0.915, "mrr": 0.959, "protocol": "clean"} in found[
        "published"
    ]
    assert round(found["baselines"]["file order"]["MAP"], 4) == 1.0
    assert "roberta-large" in invoke(*arguments).stdout
    worthless = invoke(*arguments, "--protocol", "cete")
    assert "1.0000" in worthless.stdout
    assert "lists every correct candidate before every incorrect one, as TrecQA does" in worthless.stderr


def test_zeros_of_no_question_are_warned_of(tmp_path: Path) -> None:
    data, run_file = tmp_path / "own.tsv", tmp_path / "run.tsv"
    data.write_text("question_id\tquestion\tcandidate_id\tcandidate\tlabel\n1\tWho?\ta\tHe.\t0\n1\tWho?\tb\tIt.\t0\n")
    run_file.write_text("1\ta\t0.5\n1\tb\t0.4\n")
    done = invoke(str(run_file), "--data", str(data))
    assert "no question counts under answerable" in done.stderr
