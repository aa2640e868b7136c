"""`--model` of rank and explain, and RUN of evaluate: a folder or a Hub id, with a note on what was not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import typer
from huggingface_hub import constants
from typer.testing import CliRunner, Result

from anselect.cli.evaluate import evaluate
from anselect.cli.explain import explain
from anselect.cli.rank import rank
from anselect.data.reading import write_questions
from anselect.errors import MissingFileError, UsageError
from anselect.modeling.checkpoint import save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from tests.cli.test_main import run
from tests.hub_cache import put_into_cache
from tests.training.tiny import learnable_questions, save_tiny_bert

HUB_ID = "owner/ranker"
QUESTION = "who made the lamp"
LONG = "bell made the old red lamp " * 6
CANDIDATES = ["the lamp is rome", "bell made the lamp"]

app = typer.Typer()
for command in (rank, evaluate, explain):
    app.command()(command)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained model for 16 tokens, alone and in a Hub cache, and a pipeline without weights."""
    folder = tmp_path_factory.mktemp("models")
    encoder = save_tiny_bert(folder / "bert")
    torch.manual_seed(0)
    save_checkpoint(*AnswerSelectionModel.from_encoder(encoder, max_tokens=16), folder / "model")
    put_into_cache(folder / "hub", HUB_ID, folder / "model")
    write_questions(learnable_questions(4), folder / "dev.tsv")
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "bell"}])
    nlp.to_disk(folder / "rules")
    return folder


@pytest.fixture(autouse=True)
def offline(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for name, value in {"HF_HUB_CACHE": folder / "hub", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": tmp_path}.items():
        monkeypatch.setenv(name, str(value))  # for commands that are processes of their own
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def ranked(model: str) -> dict[str, float]:
    rows = json.loads(invoke("rank", QUESTION, *CANDIDATES, "--model", model, "--format", "json").stdout)
    return {row["text"]: row["score"] for row in rows}


def test_rank_takes_a_hub_id_and_notes_what_was_cut() -> None:
    done = run("rank", QUESTION, *CANDIDATES, LONG, LONG, "--model", HUB_ID, "--top-k", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 1
    assert done.stderr.splitlines() == [
        f"note: ranked by the model {HUB_ID} (unknown recipe, dev MAP nan)",
        "note: 2 candidates cut to the model's limit of 16 tokens",
    ]


def test_rank_says_nothing_of_cutting_where_all_was_read(folder: Path) -> None:
    assert "cut" not in invoke("rank", QUESTION, *CANDIDATES, "--model", str(folder / "model")).stderr
    assert "1 candidate cut to" in invoke("rank", QUESTION, LONG, "--model", str(folder / "model")).stderr
    assert "1 candidate cut to" in invoke("rank", QUESTION, LONG * 100).stderr
    assert "cut" not in invoke("rank", QUESTION, LONG * 100, "--long", "windows").stderr


def test_hub_id_and_folder_are_the_same_model(folder: Path) -> None:
    assert ranked(HUB_ID) == ranked(str(folder / "model"))


def test_evaluate_takes_a_hub_id(folder: Path) -> None:
    data = ("--data", str(folder / "dev.tsv"), "--format", "json")
    by_id, by_folder = invoke("evaluate", HUB_ID, *data), invoke("evaluate", str(folder / "model"), *data)
    assert f"scored by the model {HUB_ID}" in by_id.stderr
    assert json.loads(by_id.stdout)["measures"] == json.loads(by_folder.stdout)["measures"]


def test_explain_shows_score_and_rank_in_every_format(folder: Path) -> None:
    arguments = ("explain", QUESTION, *CANDIDATES, "--model", HUB_ID, "--pipeline", str(folder / "rules"))
    found = json.loads(invoke(*arguments, "--format", "json").stdout)
    assert found["model"].startswith(f"model {HUB_ID}")
    assert {each["text"]: each["score"] for each in found["candidates"]} == ranked(HUB_ID)
    best = max(found["candidates"], key=lambda each: each["score"])
    assert (best["rank"], [each["text"] for each in found["candidates"]]) == (1, CANDIDATES)
    assert best["entities"] or best["text"] == CANDIDATES[0]
    shown = f"{best['score']:.4f}"
    lines = invoke(*arguments).stdout.splitlines()
    assert lines[2].startswith(f"scores   by model {HUB_ID}")
    assert f"   score     {shown}, rank 1" in lines
    page = invoke(*arguments, "--format", "html").stdout
    assert f"<span>rank 1, score {shown}</span>" in page
    assert f"Scores and ranks by model {HUB_ID}" in page


def test_explain_without_a_model_shows_no_score(folder: Path) -> None:
    arguments = ("explain", QUESTION, *CANDIDATES, "--pipeline", str(folder / "rules"))
    assert "score" not in invoke(*arguments).stdout
    assert "score" not in invoke(*arguments, "--format", "html").stdout


def test_explain_needs_candidates_to_score() -> None:
    assert isinstance(invoke("explain", QUESTION, "--model", HUB_ID).exception, UsageError)


def test_explain_notes_what_was_cut(folder: Path) -> None:
    arguments = ("explain", QUESTION, LONG, "--model", HUB_ID, "--pipeline", str(folder / "rules"))
    assert "1 candidate cut to the model's limit of 16 tokens" in invoke(*arguments).stderr


def test_model_that_is_nowhere_ends_in_one_line_and_code_4(folder: Path) -> None:
    done = run("rank", QUESTION, "a", "--model", "owner/none")
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: owner/none: no such folder, not in the Hub's cache (")
    error = invoke("evaluate", "owner/none", "--data", str(folder / "dev.tsv")).exception
    assert isinstance(error, MissingFileError)
    assert line == f"error: {error}"


def test_run_file_that_is_missing_is_not_looked_for_on_the_hub(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("runs/none.trec", "none.trec", str(tmp_path / "none.trec")):
        error = invoke("evaluate", name, "--data", str(folder / "dev.tsv")).exception
        assert isinstance(error, MissingFileError)
        assert str(error) == f"{name}: no such file, expected one to read: check the path"
