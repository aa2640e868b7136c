"""Whole trainings of a tiny model: what a run leaves, that seeds decide everything, that a kill changes nothing."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback, TrainerState

import anselect
from anselect.config import Recipe, TextConfig, check_recipe, recipe_to_toml
from anselect.data.protocols import PROTOCOLS
from anselect.data.reading import write_questions
from anselect.errors import DataError, UsageError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.modeling.rankers import load_ranker
from anselect.records import Question
from anselect.training.prepare import text_steps
from anselect.training.train import build_ranker, train
from tests.training.tiny import SPECIALS, WORDS, learnable_questions, save_tiny_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_bert(folder / "bert")
    write_questions(learnable_questions(20), folder / "train.jsonl")
    write_questions(learnable_questions(8, seed=1), folder / "dev.jsonl")
    write_questions(learnable_questions(8, seed=2), folder / "test.jsonl")
    return folder


MODEL_KEYS = {"head", "kind", "encoder_layers", "start", "exit_layer", "pooling", "dropout"}


def tiny_recipe(folder: Path, **changes: object) -> Recipe:
    files = {split: str(folder / f"{split}.jsonl") for split in ("train", "dev", "test")}
    training = {key: value for key, value in changes.items() if key not in MODEL_KEYS}
    settings = {"epochs": 3, "batch_size": 8, "learning_rate": 3e-3, "checkpoint_steps": 3, **training}
    model: dict[str, object] = {"encoder": str(folder / "bert"), "max_tokens": 32}
    model |= {key: value for key, value in changes.items() if key in MODEL_KEYS}
    return check_recipe({"name": "tiny", "data": files, "model": model, "training": settings}, source="test")


def dev_figures(run: Path) -> list[dict[str, float]]:
    """What a training measured on dev, epoch by epoch."""
    entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [entry for entry in entries if "eval_map" in entry]


def weights(run: Path) -> str:
    return hashlib.sha256((run / "model" / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("head", "loss"),
    [
        ("linear", "cross-entropy"),
        ("fc", "ranknet"),
        ("bow", "listwise-softmax"),
        ("cnn", "cross-entropy"),
        ("rnn", "cross-entropy"),
        ("sigmoid", "bertsel"),
        ("sigmoid", "cross-entropy"),
        ("sigmoid", "listwise-and-pointwise"),
        ("match", "cross-entropy"),
    ],
)
def test_every_head_learns_twenty_questions(folder: Path, tmp_path: Path, head: str, loss: str) -> None:
    metrics = train(tiny_recipe(folder, head=head, loss=loss, epochs=6), tmp_path / "run")
    assert metrics["dev"]["answerable"]["MAP"] == 1.0


def test_student_learns_what_the_teacher_says(folder: Path, tmp_path: Path) -> None:
    taught = [
        replace(
            question,
            candidates=tuple(
                # The labels say nothing: the teacher alone knows.
                replace(candidate, label=int(place == 0), metadata={"teacher_logit": "4" if candidate.label else "-4"})
                for place, candidate in enumerate(question.candidates)
            ),
        )
        for question in learnable_questions(20)
    ]
    write_questions(taught, tmp_path / "taught.jsonl")
    recipe = tiny_recipe(folder, head="sigmoid", loss="distillation", label_weight=0.1, epochs=6)
    data = recipe.data.model_copy(update={"train": str(tmp_path / "taught.jsonl"), "train_questions": "all"})
    metrics = train(recipe.model_copy(update={"data": data}), tmp_path / "run")
    assert metrics["dev"]["answerable"]["MAP"] == 1.0


def test_first_guesses_are_learnt_beside_the_rest(folder: Path, tmp_path: Path) -> None:
    train(tiny_recipe(folder, head="sigmoid", loss="ranknet", epochs=6), tmp_path / "plain")
    settings = {"start": str(tmp_path / "plain"), "head": "sigmoid", "exit_layer": 1, "exit_weight": 1.0}
    metrics = train(tiny_recipe(folder, loss="ranknet", epochs=6, **settings), tmp_path / "run")
    assert metrics["dev"]["answerable"]["MAP"] == 1.0
    ranker = load_ranker(tmp_path / "run" / "model")
    questions = learnable_questions(20)
    ranker.model.config.exit_below = float("inf")
    guessed = evaluate_scores(questions, ranker.score(questions).scores, protocol=PROTOCOLS["answerable"])
    assert guessed.measures["MAP"].value > 0.9


def test_encoder_dropout_is_the_recipe_s_or_the_encoder_s_own(folder: Path) -> None:
    for wanted, share in ((0.0, 0.0), (0.3, 0.3), ("own", 0.1)):
        recipe = tiny_recipe(folder, encoder_dropout=wanted, dropout=0.25)
        model: Any = build_ranker(recipe, text_steps(TextConfig())).model
        assert {part.p for part in model.encoder.modules() if isinstance(part, torch.nn.Dropout)} == {share}
        assert {part.p for part in model.head.modules() if isinstance(part, torch.nn.Dropout)} == {0.25}


def test_training_in_bf16_learns_and_keeps_weights_in_32_bits(folder: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(folder, precision="bf16", epochs=6)
    assert train(recipe, tmp_path)["dev"]["answerable"]["MAP"] == 1.0
    assert {weight.dtype for weight in load_file(tmp_path / "model" / "model.safetensors").values()} == {torch.float32}
    # torch's fused attention is what bf16 is slow with on a CPU.
    trained: Any = build_ranker(recipe, text_steps(TextConfig())).model
    assert trained.encoder.config._attn_implementation == "eager"


def test_distillation_without_a_teacher_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="distillation needs a teacher_logit for every training candidate: 0 of"):
        train(tiny_recipe(folder, head="sigmoid", loss="distillation"), tmp_path / "run")


def test_training_goes_on_from_a_trained_run(folder: Path, tmp_path: Path) -> None:
    train(tiny_recipe(folder, head="fc", epochs=6), tmp_path / "first")
    start = {"start": str(tmp_path / "first"), "learning_rate": 1e-9, "epochs": 1}
    metrics = train(tiny_recipe(folder, **start), tmp_path / "second")
    assert metrics["dev"]["answerable"]["MAP"] == 1.0
    first, second = (load_file(tmp_path / run / "model" / "model.safetensors") for run in ("first", "second"))
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)


def test_going_on_needs_the_same_text_steps(folder: Path, tmp_path: Path) -> None:
    train(tiny_recipe(folder, epochs=1), tmp_path / "first")
    recipe = tiny_recipe(folder, start=str(tmp_path / "first"))
    recipe = recipe.model_copy(update={"text": TextConfig(lower_case=True)})
    with pytest.raises(UsageError, match=r"texts were not prepared as this recipe"):
        train(recipe, tmp_path / "second")


def test_frozen_layers_are_not_trained(folder: Path, tmp_path: Path) -> None:
    train(tiny_recipe(folder, epochs=1, frozen_layers=1), tmp_path / "run")
    before, after = (
        load_file(folder / "bert" / "model.safetensors"),
        load_file(tmp_path / "run/model/model.safetensors"),
    )
    moved = {name for name, value in before.items() if not torch.equal(value, after.get(f"encoder.{name}", value))}
    assert any("layer.1." in name for name in moved)
    assert not any("layer.0." in name or "embeddings" in name for name in moved)


@pytest.mark.parametrize("layers", [1, 0])
def test_siamese_model_trains_and_its_ablation_is_measured(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    recipe = tiny_recipe(folder, loss="cosine-mse", epochs=2, kind="siamese", encoder_layers=layers)
    metrics = train(recipe, tmp_path / "run")
    assert metrics["trained"]["epoch"] == (0 if layers == 0 else pytest.approx(1.5, abs=0.5))
    ranking = anselect.load(tmp_path / "run").rank("who made the lamp", ["the lamp is rome", "bell made the lamp"])
    assert all(0 <= place.score <= 1 for place in ranking)
    scores = [place.score for place in anselect.load(tmp_path / "run").rank("who made the lamp", ["bell", "bell"])]
    assert scores[0] == scores[1]


def test_run_folder_holds_what_is_needed_to_use_and_repeat_it(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    metrics = train(tiny_recipe(folder), run)
    assert {path.name for path in run.iterdir()} == {
        "checkpoints",
        "dev.trec",
        "environment.json",
        "metrics.json",
        "metrics.jsonl",
        "model",
        "recipe.toml",
        "tensorboard",
        "test.trec",
    }
    assert json.loads((run / "metrics.json").read_text()) == metrics
    assert set(metrics["data_files"]) == {str(folder / f"{split}.jsonl") for split in ("train", "dev", "test")}
    assert [entry["epoch"] for entry in dev_figures(run)] == [1.0, 2.0, 3.0]
    assert [path.name for path in (run / "checkpoints").glob("checkpoint-*")] == ["checkpoint-30"]
    ranking = anselect.load(run).rank("who made the lamp", ["the lamp is rome", "bell made the lamp"])
    assert ranking[0].index == 1
    assert 0 < ranking[0].score < 1


def test_seed_decides_the_weights(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(tiny_recipe(folder, seed=seed, epochs=1), tmp_path / name)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


@pytest.mark.parametrize("average_steps", [0, 5])
def test_killed_training_goes_on_and_ends_with_the_same_weights(
    folder: Path, tmp_path: Path, average_steps: int
) -> None:
    recipe = tiny_recipe(folder, head="rnn", epochs=4, average_steps=average_steps)
    train(recipe, tmp_path / "whole")
    file = tmp_path / "recipe.toml"
    file.write_text(recipe_to_toml(recipe))
    command = [sys.executable, "-m", "anselect", "train", str(file), "--output", str(tmp_path / "killed")]
    checkpoints = tmp_path / "killed" / "checkpoints"
    for wanted in (3, 12, 21):  # killed while the first, second and third epoch run
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not _has_steps(checkpoints, wanted):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "killed" / "metrics.json").exists()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert dev_figures(tmp_path / "killed") == dev_figures(tmp_path / "whole")


def _has_steps(checkpoints: Path, wanted: int) -> bool:
    return any(int(path.name.rpartition("-")[2]) >= wanted for path in checkpoints.glob("checkpoint-*"))


def test_half_written_checkpoint_is_not_taken_for_whole(folder: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(folder, epochs=1)
    train(recipe, tmp_path / "whole")
    torn = tmp_path / "torn" / "checkpoints" / ".unfinished" / "checkpoint-9"
    train_start = tmp_path / "torn"
    torn.mkdir(parents=True)
    (torn / "model.safetensors").write_bytes(b"half")
    for name in ("recipe.toml", "environment.json"):
        (train_start / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    train(recipe, train_start)
    assert weights(train_start) == weights(tmp_path / "whole")


def test_early_stopping_ends_when_dev_map_stalls_and_stays_ended(folder: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(folder, epochs=12, patience=2)
    metrics = train(recipe, tmp_path / "run")
    assert dev_figures(tmp_path / "run")[-1]["epoch"] == metrics["trained"]["epoch"] + 2 < 12
    (tmp_path / "run" / "metrics.json").unlink()
    before = weights(tmp_path / "run")
    assert train(recipe, tmp_path / "run") == metrics
    assert weights(tmp_path / "run") == before


def test_accumulation_trains_to_the_same_figures(folder: Path, tmp_path: Path) -> None:
    figures = []
    for name, steps in (("one", 1), ("four", 4)):
        train(tiny_recipe(folder, accumulation_steps=steps), tmp_path / name)
        lines = (tmp_path / name / "metrics.jsonl").read_text().splitlines()
        figures.append(next(json.loads(line)["grad_norm"] for line in lines if "grad_norm" in line))
    # Dropout differs, as each part draws its own; the first gradients are of one size.
    assert figures[0] == pytest.approx(figures[1], rel=0.5)


def test_two_processes_train_to_the_weights_of_one(folder: Path, tmp_path: Path) -> None:
    save_tiny_bert(tmp_path / "bert", dropout=0.0)  # each process draws its own dropout
    recipe = tiny_recipe(folder, epochs=2, batch_size=6)
    model = recipe.model.model_copy(update={"encoder": str(tmp_path / "bert"), "dropout": 0.0})
    file = tmp_path / "recipe.toml"
    file.write_text(recipe_to_toml(recipe.model_copy(update={"model": model})))
    alone = [sys.executable, "-m", "anselect", "train", str(file), "--output", str(tmp_path / "one")]
    together = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    together += ["--standalone", "-m", "anselect", "train", str(file), "--output", str(tmp_path / "two")]
    for command in (alone, together):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    first, second = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("one", "two"))
    assert all(torch.allclose(first[name], second[name], atol=1e-4) for name in first)
    assert dev_figures(tmp_path / "one") == dev_figures(tmp_path / "two")


def test_folder_of_another_recipe_is_refused(folder: Path, tmp_path: Path) -> None:
    train(tiny_recipe(folder, epochs=1), tmp_path / "run")
    with pytest.raises(UsageError, match="holds a run of another recipe"):
        train(tiny_recipe(folder, epochs=2), tmp_path / "run")


def test_recipe_of_another_version_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(folder, epochs=1)
    train(recipe, tmp_path / "run")
    file = tmp_path / "run" / "recipe.toml"
    file.write_text(file.read_text() + "\n[optimizer]\nname = 1\n")
    with pytest.raises(DataError, match=r"optimizer: unknown key.*another version of anselect"):
        train(recipe, tmp_path / "run")


def test_labels_all_zero_are_refused(folder: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    def wrong(question: Question) -> Question:
        return replace(question, candidates=tuple(replace(candidate, label=0) for candidate in question.candidates))

    write_questions(map(wrong, learnable_questions(4)), tmp_path / "zero.jsonl")
    recipe = tiny_recipe(folder).model_copy(
        update={"data": tiny_recipe(folder).data.model_copy(update={"train": str(tmp_path / "zero.jsonl")})}
    )
    with pytest.raises(DataError, match="are the labels all 0"):
        train(recipe, tmp_path / "run")


class Interruption(TrainerCallback):
    """Stops a training in the middle of its second epoch."""

    def on_step_end(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        if state.global_step == 14:
            raise KeyboardInterrupt


def test_only_special_tokens_of_frozen_embeddings_are_trained(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = pytest.importorskip("spacy").blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "bell"}])
    nlp.to_disk(tmp_path / "rules")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = TextConfig(highlight="replace", pipeline=str(tmp_path / "rules"))
    recipe = tiny_recipe(folder, frozen_layers=1, weight_decay=0.5, average_steps=4).model_copy(update={"text": text})
    built: Any = build_ranker(recipe, text_steps(text)).model
    at_first = built.encoder.state_dict()
    train(recipe, tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "resumed", callbacks=[Interruption()])
    train(recipe, tmp_path / "resumed")
    kept: Any = load_ranker(tmp_path / "run" / "model").model
    trained = kept.encoder.state_dict()
    changed = {name for name, before in at_first.items() if not torch.equal(before, trained[name])}
    assert {name.split(".")[0] for name in changed} == {"embeddings", "encoder"}
    assert not any(name.startswith("encoder.layer.0.") for name in changed)
    (embeddings,) = (name for name in changed if name.startswith("embeddings"))
    rows = (at_first[embeddings] != trained[embeddings]).any(dim=1).nonzero().flatten().tolist()
    assert rows == [len(SPECIALS + WORDS)]  # SPECIAL_TOKEN alone
    assert weights(tmp_path / "run") == weights(tmp_path / "resumed")


def test_model_trained_on_highlighted_texts_is_never_shown_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    recipe = tiny_recipe(folder, epochs=1).model_copy(update={"text": TextConfig(highlight="replace")})
    train(recipe, tmp_path / "run")
    file = tmp_path / "run" / "model" / "tokenizer.json"
    assert "SPECIAL_TOKEN" in [token["content"] for token in json.loads(file.read_text())["added_tokens"]]
    selector = anselect.load(tmp_path / "run")
    scores = {
        text: selector.rank("Who made the lamp?", [text])[0].score
        for text in (
            "It was made by Alexander Graham Bell.",
            "It was made by SPECIAL_TOKEN.",
            "It was made by George Washington.",
        )
    }
    # Both names become the same token; a candidate that spells the token out does not pass for one.
    assert len(set(scores.values())) == 2
    assert scores["It was made by Alexander Graham Bell."] == scores["It was made by George Washington."]
    config = tmp_path / "run" / "model" / "config.json"
    settings = json.loads(config.read_text())
    settings.pop("text_steps")
    config.write_text(json.dumps(settings))
    manifest = tmp_path / "run" / "model" / "checkpoint.json"
    known = json.loads(manifest.read_text())
    known["files"]["config.json"] = hashlib.sha256(config.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(known))
    with pytest.raises(DataError, match="trained on highlighting 'replace', its text steps say 'none'"):
        anselect.load(tmp_path / "run")
