"""Kept records: small, the same bytes each time, without machine paths; the page can be made and checked from them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from anselect.config import Recipe, load_recipe
from anselect.experiments.keep import main as keep
from anselect.experiments.results import main as make_page
from anselect.experiments.results import render_results
from tests.conftest import ROOT
from tests.experiments.hand_made import write_finished_run, write_wikiqa

SIZE = 6
RANKS = {0: [1, 1, 1, 1, 2, 2], 1: [1, 1, 1, 1, 1, 0]}
"""MAP 5/6 for seed 0; for seed 1 a question is one tie of three: (5 + (1 + 1/2 + 1/3) / 3) / 6."""
MEAN = (5 / 6 + (5 + 11 / 18) / 6) / 2


def recipe(seed: int) -> Recipe:
    return load_recipe("bas-base-fc-uncased", [f"training.seed={seed}"])


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a system, kept."""
    tmp_path = tmp_path_factory.mktemp("made")
    data_dir = write_wikiqa(tmp_path / "data", {"train": 4, "dev": 3, "test": SIZE})
    runs = [tmp_path / "runs" / "bas-fc" / "bert" / "wikiqa" / f"seed{seed}" for seed in RANKS]
    for (seed, ranks), run in zip(RANKS.items(), runs, strict=True):
        write_finished_run(run, recipe(seed), data_dir, ranks)
    arguments = ["--results", str(tmp_path / "results"), "--data-dir", str(data_dir), "--commit", "0123456789abcdef"]
    assert keep([*map(str, runs), *arguments]) == 0
    return tmp_path


def page(folder: Path, *arguments: str) -> int:
    places = ["--runs", str(folder / "results"), "--output", str(folder / "R.md"), "--data-dir", str(folder / "data")]
    return make_page([*places, *arguments])


def test_record_holds_what_is_small(folder: Path) -> None:
    assert {path.name for path in (folder / "results").iterdir()} == {
        "bas-fc-bert-wikiqa-seed0",
        "bas-fc-bert-wikiqa-seed1",
        "baselines.json",
    }
    record = folder / "results" / "bas-fc-bert-wikiqa-seed0"
    assert {path.name for path in record.iterdir()} == {
        *("metrics.json", "recipe.toml", "environment.json", "dev.trec.gz", "test.trec.gz"),
    }
    run = folder / "runs" / "bas-fc" / "bert" / "wikiqa" / "seed0"
    assert gzip.decompress((record / "test.trec.gz").read_bytes()) == (run / "test.trec").read_bytes()
    assert json.loads((record / "environment.json").read_text())["commit"] == "0123456789abcdef"


def test_keeping_twice_gives_the_same_bytes(folder: Path) -> None:
    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (folder / "results").rglob("*") if path.is_file()}

    before = contents()
    run = folder / "runs" / "bas-fc" / "bert" / "wikiqa" / "seed0"
    places = ["--results", str(folder / "results"), "--data-dir", str(folder / "data")]
    assert keep([str(run), *places, "--commit", "0123456789abcdef"]) == 0
    assert contents() == before


def test_absolute_paths_become_names(tmp_path: Path) -> None:
    data_dir = write_wikiqa(tmp_path / "data", {"train": 4, "dev": 3, "test": SIZE})
    own = load_recipe("minilm-linear", [f'model.encoder="{tmp_path / "models" / "mine"}"'])
    write_finished_run(tmp_path / "trial", own, data_dir, RANKS[0])
    results = tmp_path / "results"
    assert keep([str(tmp_path / "trial"), "--results", str(results), "--data-dir", str(data_dir)]) == 0
    text = (results / "trial-seed0" / "recipe.toml").read_text()
    assert 'encoder = "mine"' in text
    assert str(tmp_path) not in text


def test_other_run_under_the_same_name_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "runs" / "bas-fc" / "bert" / "wikiqa" / "seed1"
    name = ["--name", "bas-fc-bert-wikiqa-seed0"]
    assert keep([str(run), "--results", str(folder / "results"), *name]) == 2
    assert "holds the records of another run" in capsys.readouterr().err


def test_unfinished_run_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "runs" / "bas-fc" / "bert" / "wikiqa" / "seed0"
    (run / "metrics.json").unlink()
    assert keep([str(run), "--results", str(folder / "other")]) == 4
    assert "expected a finished run" in capsys.readouterr().err


def test_page_has_means_published_figures_baselines_and_provenance(folder: Path) -> None:
    assert page(folder) == 0
    text = (folder / "R.md").read_text()
    deviation = abs(5 / 6 - (5 + 11 / 18) / 6) / 2**0.5
    assert "## wikiqa, protocol 243, 6 questions" in text
    assert f"| bas-fc-bert-wikiqa | 2 | 1.0000 ± 0.0000 | {MEAN:.4f} ± {deviation:.4f} | " in text
    assert text.count("| 0.789 | 0.810 |") == 1  # under the protocol of the paper only
    assert "| *constant* |  |  | 0.6111 | 0.6111 |" in text
    assert (
        "| bas-fc-bert-wikiqa-seed1 | bas-base-fc-uncased | google-bert/bert-base-uncased | 1 | 0123456789ab | " in text
    )


def test_check_finds_rankings_and_page_as_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page(folder)
    assert page(folder, "--check") == 0
    assert capsys.readouterr().err == ""


def test_check_finds_a_changed_figure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "results" / "bas-fc-bert-wikiqa-seed1" / "metrics.json"
    metrics = json.loads(path.read_text())
    metrics["test"]["243"]["MRR"] += 1e-6
    path.write_text(json.dumps(metrics))
    page(folder)
    assert page(folder, "--check") == 5
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: bas-fc-bert-wikiqa-seed1 test 243 MRR: recorded 0.93")


def test_check_finds_a_page_that_is_not_what_the_records_give(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page(folder)
    with (folder / "R.md").open("a") as file:
        file.write("by hand\n")
    assert page(folder, "--check") == 5
    assert "is not what the records give" in capsys.readouterr().err


def test_check_says_what_it_could_not_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page(folder)
    with (folder / "data" / "wikiqa" / "WikiQA-test.tsv").open("a") as file:
        file.write("Q9\twho\tD9\tT\tD9-0\tbell\t1\n")
    assert page(folder, "--check") == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 2
    assert "WikiQA-test.tsv at hand is not the file that the run read" in notes[0]


def test_runs_of_one_name_must_be_of_one_recipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "results" / "bas-fc-bert-wikiqa-seed1" / "recipe.toml"
    path.write_text(path.read_text().replace("epochs = 4", "epochs = 5"))
    assert page(folder) == 5
    assert "expected runs that differ in their seed only, got 2 recipes" in capsys.readouterr().err


def test_results_page_is_what_the_kept_records_give() -> None:
    kept, written = ROOT / "results", ROOT / "docs" / "RESULTS.md"
    if not kept.is_dir() or not written.is_file():
        pytest.skip("no results are kept yet")
    assert written.read_text(encoding="utf-8") == render_results(kept)
