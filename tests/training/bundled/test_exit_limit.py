"""The limit of an exit: chosen by dev figures, written with the model, and nothing lost where no exit pays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from anselect.data.reading import write_questions
from anselect.errors import UsageError
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.training.bundled.exit_limit import choose_exit
from anselect.training.bundled.measure import NamedSet, measure_sets, scorer
from anselect.training.train import train
from tests.training.bundled.test_mean_model import save_model
from tests.training.test_train import tiny_recipe
from tests.training.tiny import learnable_questions, save_tiny_bert

SETS = [NamedSet("a", learnable_questions(12)), NamedSet("b", learnable_questions(8, seed=1))]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model whose first guesses are as good as its last."""
    folder = tmp_path_factory.mktemp("exit")
    save_tiny_bert(folder / "bert")
    for seed, split in enumerate(("train", "dev", "test")):
        write_questions(learnable_questions(20, seed=seed), folder / f"{split}.jsonl")
    settings = {"exit_layer": 1, "exit_weight": 1.0, "epochs": 8}
    train(tiny_recipe(folder, head="match", pooling="mean", loss="ranknet", **settings), folder / "run")
    return folder / "run"


def test_hopeless_candidates_leave_and_rankings_stay_as_good(run: Path, tmp_path: Path) -> None:
    folder = choose_exit(run, [], SETS, tmp_path / "exit")
    record = json.loads((folder / "exit.json").read_text())
    assert record["chosen"] >= 0.3
    by_share = {entry["share"]: entry for entry in record["tried"]}
    chosen = by_share[record["chosen"]]
    assert chosen["mean"] >= by_share[0.0]["mean"] - 0.001
    ranker = load_ranker(folder / "model")
    assert isinstance(ranker, CrossEncoderRanker)
    limit = ranker.model.config.exit_below
    assert limit is not None
    # What the saved model does is what was tried.
    assert measure_sets(SETS, scorer(ranker)) == pytest.approx(chosen["dev"])
    ranker.model.config.exit_below = float("inf")
    scores = np.concatenate([np.asarray(own) for each in SETS for own in scorer(ranker)(each.questions)])
    guesses = np.log(scores / (1 - scores))
    assert (guesses < limit).mean() == pytest.approx(record["chosen"], abs=0.12)  # equal texts leave together


def test_chosen_once(run: Path, tmp_path: Path) -> None:
    (tmp_path / "exit.json").write_text("{}")
    assert choose_exit(tmp_path / "no such run", [], SETS, tmp_path) == tmp_path


def test_model_without_guesses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a cross-encoder that makes first guesses"):
        choose_exit(save_model(tmp_path / "plain", 1), [], SETS, tmp_path / "exit")


def test_an_exit_that_does_not_pay_is_taken_away(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.training.bundled.exit_limit.WORTH", 1.0)
    folder = choose_exit(run, [], SETS, tmp_path / "exit")
    record = json.loads((folder / "exit.json").read_text())
    assert (record["chosen"], record["layer"]) == (0.0, 1)
    ranker = load_ranker(folder / "model")
    assert isinstance(ranker, CrossEncoderRanker)
    assert (ranker.model.config.exit_layer, ranker.model.config.exit_below) == (0, None)
    assert measure_sets(SETS, scorer(ranker)) == pytest.approx(record["tried"][0]["dev"])
