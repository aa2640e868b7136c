"""A recipe in, a run folder out: data, text steps, model, training, figures on dev and test; resumable throughout."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import PartialState
from torch import nn
from transformers import TrainerCallback, set_seed

from anselect.config import Recipe
from anselect.data.files import write_text
from anselect.data.protocols import Protocol, protocols_for
from anselect.errors import UsageError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.trec_files import write_run
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import freeze_lowest, set_dropout
from anselect.modeling.losses import LOSSES
from anselect.modeling.question_first import check_question_layers
from anselect.modeling.rankers import CrossEncoderRanker, TrainedRanker, load_ranker
from anselect.modeling.siamese import SiameseConfig, SiameseModel
from anselect.modeling.siamese_ranker import SiameseRanker, open_features
from anselect.records import Question
from anselect.text.steps import TextSteps
from anselect.training.batches import Rows
from anselect.training.engine_import import load_start
from anselect.training.model_card import write_model_card
from anselect.training.prepare import TrainingData, choose_protocol, read_training_data, text_steps
from anselect.training.rows import FeatureRows, TokenRows
from anselect.training.run_folder import RunFolder, open_run
from anselect.training.trainer import SelectionTrainer, checkpoint_log, has_stalled, whole_checkpoint

ROWS_PER_PASS = 16
"""Rows encoded at a time where a batch holds whole questions: enough for fast products, few enough to pad little."""
DEV_MEASURES = ("MAP", "MRR", "P@1")


@dataclass(frozen=True, slots=True)
class Training:
    """Everything that one training needs, ready to start."""

    recipe: Recipe
    data: TrainingData
    steps: TextSteps
    protocol: Protocol
    run: RunFolder


def train(
    recipe: Recipe, output: Path, *, data_dir: Path | None = None, callbacks: Sequence[TrainerCallback] = ()
) -> dict[str, Any]:
    """Train a recipe into a folder, or go on where an interrupted training stopped; return what metrics.json holds.

    The same recipe, seed and machine give the same weights, interrupted or not. A finished run is not trained again.
    """
    if recipe.training.precision == "fp16" and not torch.cuda.is_available():
        # The library would train in fp32 and say nothing.
        raise UsageError("training.precision fp16 needs a GPU, there is none: set it to bf16 or fp32")
    processes = PartialState(cpu=not torch.cuda.is_available())
    data = read_training_data(recipe.data, data_dir=data_dir)
    with processes.main_process_first():
        run = open_run(output, recipe, provenance={"data_files": data.files})
    if not run.is_finished:
        training = Training(recipe, data, text_steps(recipe.text), choose_protocol(recipe, data), run)
        _fit(training, callbacks)
        if processes.is_main_process:
            _measure_best(training)
        processes.wait_for_everyone()
    return dict(json.loads(run.metrics.read_text(encoding="utf-8")))


def build_ranker(recipe: Recipe, steps: TextSteps) -> TrainedRanker:
    """Build the recipe's model on its encoder or features; the seed decides the first weights of what is new."""
    set_seed(recipe.training.seed)
    ranker = _build_siamese(recipe) if recipe.model.kind == "siamese" else _build_cross_encoder(recipe, steps)
    # Whoever loads the model prepares texts by what stands here.
    ranker.model.config.text_steps = asdict(steps)
    return ranker


def build_rows(ranker: TrainedRanker, questions: Sequence[Question], recipe: Recipe) -> Rows:
    """Number the pairs of prepared questions for training."""
    if isinstance(ranker, SiameseRanker):
        return FeatureRows(questions, ranker.features, recipe.model.max_tokens)
    return TokenRows(questions, cast(CrossEncoderRanker, ranker).tokenizer, recipe.model.max_tokens)


def _build_cross_encoder(recipe: Recipe, steps: TextSteps) -> CrossEncoderRanker:
    ranker = _continued(recipe, steps) if recipe.model.start else _from_encoder(recipe, steps)
    new_tokens = ranker.tokenizer.convert_tokens_to_ids(list(ranker.model.config.highlight_tokens))
    freeze_lowest(ranker.model.encoder, recipe.training.frozen_layers, new_tokens=cast(list[int], new_tokens))
    if recipe.model.question_layers:
        check_question_layers(ranker.model.encoder, recipe.model.question_layers)
        ranker.model.config.question_layers = recipe.model.question_layers
    if not recipe.model.exit_layer:
        ranker.model.remove_exit()
    elif recipe.model.exit_layer != ranker.model.config.exit_layer:
        ranker.model.add_exit(recipe.model.exit_layer)
    ranker.model.config.exit_below = None  # a limit that was chosen before says nothing of the new weights
    if recipe.training.encoder_dropout != "own":
        set_dropout(ranker.model.encoder, recipe.training.encoder_dropout)
    if recipe.training.precision == "bf16" and not torch.cuda.is_available():
        # torch's fused attention takes half of a step on its way back in bf16 on a CPU, plain products a tenth.
        ranker.model.encoder.set_attn_implementation("eager")
    if LOSSES[recipe.training.loss].grouped:
        ranker.model.rows_per_pass = ROWS_PER_PASS
    return ranker


def _from_encoder(recipe: Recipe, steps: TextSteps) -> CrossEncoderRanker:
    model, tokenizer = AnswerSelectionModel.from_encoder(
        recipe.model.encoder,
        head=recipe.model.head,
        cell=recipe.model.cell,
        pooling=recipe.model.pooling,
        dropout=recipe.model.dropout,
        max_tokens=recipe.model.max_tokens,
        sides_apart=recipe.model.sides_apart,
    )
    if steps.tokens:
        model.add_highlight_tokens(tokenizer, steps.highlight)
    return CrossEncoderRanker(model, tokenizer)


def _continued(recipe: Recipe, steps: TextSteps) -> CrossEncoderRanker:
    """Load the trained model to go on from; what it was trained with must be what the recipe asks for."""
    ranker = load_start(recipe.model.start)
    if not isinstance(ranker, CrossEncoderRanker):
        raise UsageError(f"{recipe.model.start}: expected a cross-encoder to go on from, got a siamese model")
    config: Any = ranker.model.config
    if getattr(config, "text_steps", asdict(TextSteps())) != asdict(steps):
        raise UsageError(
            f"{recipe.model.start}: its texts were not prepared as this recipe's [text] says: set it alike"
        )
    config.max_tokens = recipe.model.max_tokens
    return ranker


def _build_siamese(recipe: Recipe) -> SiameseRanker:
    settings = recipe.model
    features = open_features(settings.features, settings.encoder, max_tokens=settings.max_tokens)
    heads = settings.attention_heads if features.width % settings.attention_heads == 0 else None
    config = SiameseConfig(
        width=features.width,
        attention_heads=heads,
        encoder_layers=settings.encoder_layers,
        dropout=settings.dropout,
        max_tokens=settings.max_tokens,
        features=settings.encoder,
    )
    config.feature_kind = settings.features
    return SiameseRanker(SiameseModel(config), features)


def _fit(training: Training, callbacks: Sequence[TrainerCallback]) -> None:
    recipe, run = training.recipe, training.run
    ranker = build_ranker(recipe, training.steps)
    rows = build_rows(ranker, list(training.steps.apply(training.data.train)), recipe)
    dev = list(training.steps.apply(training.data.dev))

    def measure(_: nn.Module) -> Mapping[str, float]:
        evaluation = evaluate_scores(dev, ranker.score(dev).scores, protocol=training.protocol, measures=DEV_MEASURES)
        return {name.lower(): value.value for name, value in evaluation.measures.items()}

    def save_best(_: nn.Module, epoch: int, dev_map: float) -> None:
        ranker.model.config.trained = {"recipe": recipe.name, "epoch": epoch, "dev_map": dev_map}
        ranker.save(run.model)

    if not any(parameter.requires_grad for parameter in ranker.model.parameters()):
        # The ablation without an encoder layer: nothing to train.
        save_best(ranker.model, 0, measure(ranker.model)["map"])
        return
    trainer = SelectionTrainer(ranker.model, rows, recipe.training, run, measure=measure, save_best=save_best)
    for callback in (*callbacks, *_tensorboard(run)):
        trainer.add_callback(callback)
    checkpoint = whole_checkpoint(run)
    if checkpoint is not None and has_stalled(checkpoint_log(checkpoint), recipe.training):
        return
    # Anew, after the head was drawn: how many numbers a head takes must not decide which ones dropout gets.
    set_seed(recipe.training.seed)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


def _tensorboard(run: RunFolder) -> list[TrainerCallback]:
    """Log to TensorBoard as well, where it is installed."""
    if importlib.util.find_spec("tensorboard") is None or not PartialState().is_main_process:
        return []
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations.integration_utils import TensorBoardCallback

    return [TensorBoardCallback(SummaryWriter(str(run.tensorboard)))]  # type: ignore[no-untyped-call]


def _measure_best(training: Training) -> None:
    """Measure the best epoch's model on dev and, once, on test; metrics.json comes last and means: finished."""
    ranker = load_ranker(training.run.model)
    figures: dict[str, Any] = {}
    for split, questions in (("dev", training.data.dev), ("test", training.data.test)):
        if questions:
            prepared = list(training.steps.apply(questions))
            scores = ranker.score(prepared).scores
            _write_split_run(training, split, questions, scores)
            figures[split] = _split_figures(training, questions, scores)
    metrics = {
        "recipe": training.recipe.name,
        "seed": training.recipe.training.seed,
        "protocol": training.protocol.name,
        "trained": getattr(ranker.model.config, "trained", {}),
        "train_questions": len(training.data.train),
        "train_pairs": training.data.pairs,
        "data_files": training.data.files,
        **figures,
    }
    write_model_card(training.run, training.recipe, metrics)
    with write_text(training.run.metrics) as file:
        json.dump(metrics, file, indent=2, ensure_ascii=False)


def _split_figures(
    training: Training, questions: Sequence[Question], scores: Sequence[Sequence[float]]
) -> dict[str, dict[str, float]]:
    """Return the measures under every sound protocol that the data set has."""
    protocols = {training.protocol.name: training.protocol}
    protocols |= {protocol.name: protocol for protocol in protocols_for(training.data.name) if not protocol.warning}
    return {
        name: {
            measure: value.value
            for measure, value in evaluate_scores(questions, scores, protocol=protocol).measures.items()
        }
        for name, protocol in protocols.items()
    }


def _write_split_run(
    training: Training, split: str, questions: Sequence[Question], scores: Sequence[Sequence[float]]
) -> None:
    provenance = {
        "recipe": training.recipe.name,
        "seed": str(training.recipe.training.seed),
        "data": training.data.name or "own files",
        "split": split,
    }
    write_run(training.run.ranking(split), questions, scores, tag=training.recipe.name, provenance=provenance)
