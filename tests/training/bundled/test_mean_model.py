"""The mean of models: weight by weight, chosen by dev figures, made once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.training.bundled.mean_model import choose_mean, mean_model
from anselect.training.bundled.measure import NamedSet
from tests.training.tiny import learnable_questions, save_tiny_bert

SETS = [NamedSet("tiny", learnable_questions(6))]


def save_model(folder: Path, seed: int, head: str = "sigmoid", exit_layer: int = 0) -> Path:
    bert = save_tiny_bert(folder / "bert")
    torch.manual_seed(seed)
    model, tokenizer = AnswerSelectionModel.from_encoder(bert, head=head, exit_layer=exit_layer, max_tokens=32)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights), alpha=0.1)
    CrossEncoderRanker(model, tokenizer).save(folder / "model")
    return folder


def test_weights_are_the_weighted_mean(tmp_path: Path) -> None:
    runs = [save_model(tmp_path / str(seed), seed) for seed in (1, 2, 3)]
    mean = mean_model({runs[0]: 0.5, runs[1]: 0.25, runs[2]: 0.25}).model.state_dict()
    own = [load_ranker(run / "model").model.state_dict() for run in runs]
    for name, weights in mean.items():
        torch.testing.assert_close(weights, 0.5 * own[0][name] + 0.25 * own[1][name] + 0.25 * own[2][name])


def test_models_of_different_forms_have_no_mean(tmp_path: Path) -> None:
    first, other = save_model(tmp_path / "a", 1), save_model(tmp_path / "b", 1, head="fc")
    with pytest.raises(UsageError, match="expected a model of the same form"):
        mean_model({first: 0.5, other: 0.5})


def test_best_of_what_was_tried_is_kept_and_not_chosen_again(tmp_path: Path) -> None:
    runs, start = [save_model(tmp_path / str(seed), seed) for seed in (1, 2)], save_model(tmp_path / "start", 3)
    folder = choose_mean(runs, start, SETS, tmp_path / "mean")
    record = json.loads((folder / "mean.json").read_text())
    assert [(entry["runs"], entry["start_share"]) for entry in record["tried"][:2]] == [(["2"], 0.0), (["1", "2"], 0.0)]
    share, averaged = record["chosen"], [tmp_path / name for name in record["runs"]]
    means = {(tuple(entry["runs"]), entry["start_share"]): entry["mean"] for entry in record["tried"]}
    assert means[tuple(record["runs"]), share] == max(means.values())
    wanted = mean_model(
        {run: (1 - share) / len(averaged) for run in averaged} | ({start: share} if share else {})
    ).model.state_dict()
    kept = load_ranker(folder / "model").model.state_dict()
    for name, weights in wanted.items():
        torch.testing.assert_close(kept[name], weights)
    (runs[0] / "model" / "config.json").unlink()
    assert choose_mean(runs, start, SETS, folder) == folder


def test_as_many_of_the_last_runs_as_dev_figures_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, start = [save_model(tmp_path / str(seed), seed) for seed in (1, 2, 3)], save_model(tmp_path / "start", 4)
    figures = iter([{"a": 0.5}, {"a": 0.7}, {"a": 0.6}, {"a": 0.65}])
    monkeypatch.setattr("anselect.training.bundled.mean_model.measure_sets", lambda *_: next(figures))
    folder = choose_mean(runs, start, SETS, tmp_path / "mean", (0.0, 0.5))
    record = json.loads((folder / "mean.json").read_text())
    assert (record["runs"], record["chosen"]) == (["2", "3"], 0.0)
    kept = load_ranker(folder / "model").model.state_dict()
    for name, weights in mean_model({runs[1]: 0.5, runs[2]: 0.5}).model.state_dict().items():
        torch.testing.assert_close(kept[name], weights)


def test_the_best_mean_is_not_bought_with_one_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, start = save_model(tmp_path / "run", 1), save_model(tmp_path / "start", 2)
    figures = iter([{"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.4}, {"a": 0.55, "b": 0.48}])
    monkeypatch.setattr("anselect.training.bundled.mean_model.measure_sets", lambda *_: next(figures))
    folder = choose_mean([run], start, SETS, tmp_path / "mean", (1.0, 0.5, 0.25))
    kept = load_ranker(folder / "model").model.state_dict()
    for name, weights in mean_model({run: 0.75, start: 0.25}).model.state_dict().items():
        torch.testing.assert_close(kept[name], weights)
    assert [entry["start_share"] for entry in json.loads((folder / "mean.json").read_text())["tried"]] == [
        1.0,
        0.5,
        0.25,
    ]
