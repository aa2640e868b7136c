"""`anselect reproduce`: lists, counts, plans; a whole table of tiny models, killed, resumed, with a cell that fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from anselect.cli.reproduce import reproduce
from anselect.errors import AnselectError, MissingExtraError, PartlyDoneError, UsageError
from tests.experiments.hand_made import write_wikiqa
from tests.training.tiny import save_tiny_bert

app = typer.Typer()
app.command()(reproduce)
PROGRAM = """
from anselect.cli import main
from anselect.cli.reproduce import reproduce
main.app.command()(reproduce)
main.run()
"""
HEADS = ("fc", "bow", "cnn", "rnn")


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, AnselectError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wikiqa(tmp_path_factory.mktemp("data"), {"train": 40, "dev": 6, "test": 10})


def test_without_a_name_the_tables_are_listed() -> None:
    assert "cete-figure2-3" in invoke()


def test_unknown_table_is_told() -> None:
    with pytest.raises(UsageError, match="did you mean 'bas-table6'"):
        invoke("bas-table66")


def test_data_table_shows_our_counts_beside_the_papers(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    text = invoke("bas-table4", "--data", "wikiqa", "--data-dir", str(data_dir), "--format", "csv")
    assert "bas-table4,wikiqa,test,10,243,30,2351" in text


def test_data_table_of_the_real_files(benchmark_data: Path) -> None:
    text = invoke("bas-table4", "--data-dir", str(benchmark_data), "--format", "json")
    found = {(row["data"], row["split"]): (row["questions"], row["candidates"]) for row in json.loads(text)["figures"]}
    assert found["trecqa-raw", "test"] == (95, 1517)
    assert found["trecqa-clean", "test"] == (68, 1442)
    assert found["wikiqa", "train"] == (873, 8672)


def test_data_table_refuses_data_that_it_has_not(data_dir: Path) -> None:
    with pytest.raises(UsageError, match="bas-table4 has no data set 'yahoocqa'"):
        invoke("bas-table4", "--data", "yahoocqa", "--data-dir", str(data_dir))


def test_dry_run_without_pytorch_says_what_to_install(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name == "torch" or name.startswith("anselect.training")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)  # import torch raises ImportError
    with pytest.raises(MissingExtraError, match=r"pip install 'anselect\[train\]'"):
        invoke("bas-table6", "--data", "wikiqa", "--dry-run", "--data-dir", str(data_dir))


def test_dry_run_trains_nothing(data_dir: Path, tmp_path: Path) -> None:
    text = invoke(
        *("bas-table6", "--data", "wikiqa", "--dry-run", "--encoder", str(tmp_path / "no-such-encoder")),
        *("--output", str(tmp_path / "out"), "--data-dir", str(data_dir)),
    )
    assert text.count("train ") == 4
    assert not (tmp_path / "out").exists()


def arguments(tmp_path: Path, data_dir: Path) -> list[str]:
    settings = ("text.highlight=none", "model.max_tokens=32", "training.epochs=2", "training.batch_size=4")
    return [
        *("bas-table6", "--encoder", str(tmp_path / "tiny"), "--data", "wikiqa", "--data-dir", str(data_dir)),
        *("--output", str(tmp_path / "out"), "--format", "json"),
        *(part for setting in settings for part in ("--set", setting)),
    ]


def cell(tmp_path: Path, head: str) -> Path:
    return tmp_path / "out" / f"bas-base-{head}-uncased" / "tiny" / "wikiqa" / "seed0"


def test_killed_table_goes_on_and_a_failing_cell_does_not_stop_the_rest(data_dir: Path, tmp_path: Path) -> None:
    save_tiny_bert(tmp_path / "tiny")
    command = [sys.executable, "-c", PROGRAM, "reproduce", *arguments(tmp_path, data_dir)]
    stray = cell(tmp_path, "cnn") / "stray.txt"
    stray.parent.mkdir(parents=True)
    stray.write_text("not a run")

    # Killed while the second cell trains: the first is finished, the second has begun.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (cell(tmp_path, "bow") / "metrics.jsonl").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = cell(tmp_path, "fc") / "metrics.json"
    assert first.is_file()
    assert not (cell(tmp_path, "rnn") / "metrics.json").exists()
    written = first.stat().st_mtime_ns

    resumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resumed.returncode == 7, resumed.stderr
    assert resumed.stderr.splitlines()[-1].startswith("error: 3 of 4 trainings are finished, 1 failed, 0 left out")
    table = json.loads(resumed.stdout)
    assert [each["seeds"] for each in table["figures"] if each["measure"] == "MAP"] == [1, 1, 0, 1]
    assert "got other files" in table["footnotes"][0]
    assert first.stat().st_mtime_ns == written

    # The cause is removed: the one cell is trained, the table is whole.
    stray.unlink()
    whole = json.loads(invoke(*arguments(tmp_path, data_dir)))
    assert first.stat().st_mtime_ns == written
    for figure in whole["figures"]:
        (run,) = figure["runs"]
        metrics = json.loads((Path(run) / "metrics.json").read_text())
        assert figure["mean"] == metrics["test"]["243"][figure["measure"]]
        assert figure["questions"] == 10
    assert sum(figure["is_best"] is True for figure in whole["figures"]) == 1
    assert "Encoder: tiny in place of the paper's." in whole["captions"]


def test_budget_of_nothing_is_partly_done(data_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(PartlyDoneError, match="0 of 4 trainings are finished, 0 failed, 4 left out"):
        invoke(*arguments(tmp_path, data_dir), "--budget", "0")


def test_heat_maps_show_the_same_question_for_every_run(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GloVe and ELMo vectors are not here: those cells fail, the one on the tiny encoder is trained and drawn.
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # features are kept there
    settings = ("model.max_tokens=32", "training.epochs=1", "model.attention_heads=2")
    with pytest.raises(PartlyDoneError, match="1 of 3 trainings are finished, 2 failed"):
        invoke(
            *("cete-figure2-3", "--output", str(tmp_path / "out"), "--encoder", save_tiny_bert(tmp_path / "tiny")),
            *("--data-dir", str(data_dir), *(part for setting in settings for part in ("--set", setting))),
        )
    drawn = sorted(path.name for path in (tmp_path / "out" / "figures").iterdir())
    assert drawn == [f"cete-features-bert-base-tiny-wikiqa-seed0.{suffix}" for suffix in ("png", "svg")]
