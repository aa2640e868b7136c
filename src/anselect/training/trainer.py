"""`transformers.Trainer` with our batches, losses, dev MAP, and checkpoints that are whole or not there.

The library's loop, optimizer, schedule, precision, distribution and random-state handling are used as they are.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from anselect.config import TrainingConfig
from anselect.data.files import write_text
from anselect.errors import AnselectError, DataError, UsageError
from anselect.modeling.checkpoint import MANIFEST, WRITE_ERRORS, check_checkpoint, write_failure, write_manifest
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import quiet
from anselect.modeling.heads import one_logit
from anselect.modeling.losses import LOSSES
from anselect.training.batches import EpochLoader, Rows, Tensors, train_loader
from anselect.training.run_folder import RunFolder, last_checkpoint, remove_older_checkpoints, staging
from anselect.training.weight_average import WeightAverage

DevMeasure = Callable[[nn.Module], Mapping[str, float]]
"""Measures a model on dev: at least `map`."""
SaveBest = Callable[[nn.Module, int, float], None]
"""Keeps a model that is the best so far: model, epoch from 1, dev MAP."""


class SelectionTrainer(Trainer):
    """Trains a ranker on units of rows; measures dev MAP after each epoch and keeps the best model."""

    def __init__(
        self,
        model: nn.Module,
        rows: Rows,
        config: TrainingConfig,
        run: RunFolder,
        *,
        measure: DevMeasure,
        save_best: SaveBest,
    ) -> None:
        trained = getattr(model, "encoder", model)
        if config.gradient_checkpointing and not getattr(trained, "supports_gradient_checkpointing", False):
            name = type(trained).__name__
            raise UsageError(f"{name} has no gradient checkpointing: set training.gradient_checkpointing to false")
        if config.loss == "distillation" and len(rows.teacher) < len(rows.labels):
            known = f"{len(rows.teacher)} of {len(rows.labels)} have one"
            raise DataError(f"distillation needs a teacher_logit for every training candidate: {known}")
        self._rows, self._config, self._run = rows, config, run
        self._measure, self._save_best = measure, save_best
        super().__init__(
            model=model, args=training_arguments(config, run), callbacks=[EpochControl(config), LogFile(run)]
        )
        self._average = WeightAverage(model, config.average_steps) if config.average_steps else None
        if self._average:
            self.add_callback(self._average)
        self.remove_callback(PrinterCallback)  # only the command line prints
        self.loss_is_scaled_for_ga = True  # `unit_weight` does it

    def get_train_dataloader(self) -> EpochLoader:
        """Return this process's loader."""
        return train_loader(self._rows, self._config, process=self.args.process_index, processes=self.args.world_size)

    def get_decay_parameter_names(self, model: nn.Module) -> list[str]:
        """Leave embeddings out where all but those of new tokens are frozen."""
        names = super().get_decay_parameter_names(model)
        if not self._config.frozen_layers or not isinstance(model, AnswerSelectionModel):
            return names
        embeddings = model.encoder.get_input_embeddings().weight
        return [name for name in names if model.get_parameter(name) is not embeddings]

    def compute_loss(
        self, model: nn.Module, inputs: Tensors, return_outputs: bool = False, num_items_in_batch: object = None
    ) -> Any:  # noqa: ANN401 - the library's signature
        """Return the loss of the batch's units, weighted by this process's share of the whole batch."""
        units = {name: inputs.pop(name) for name in list(inputs) if name.startswith("unit_")}
        output = model(**inputs)
        loss = unit_loss(output, units, self._config) * units["unit_weight"]
        return (loss, output) if return_outputs else loss

    def evaluate(self, *args: object, **kwargs: object) -> dict[str, float]:
        """Measure the model on dev (in the first process) and keep it if it is the best so far."""
        figures: list[Any] = [None]
        if self.args.process_index == 0:
            figures = [self._measure_and_keep()]
        if self.args.world_size > 1:
            torch.distributed.broadcast_object_list(figures, src=0)
        values = {f"eval_{name}": value for name, value in figures[0].items()}
        self.log(values)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, values)
        return values

    def _measure_and_keep(self) -> dict[str, float]:
        model = self.accelerator.unwrap_model(self.model_wrapped)
        model.eval()
        with self._average.applied() if self._average else nullcontext():
            with torch.inference_mode():
                figures = dict(self._measure(model))
            best = max((entry["eval_map"] for entry in self.state.log_history if "eval_map" in entry), default=-1.0)
            if figures["map"] > best:
                self._save_best(model, round(self.state.epoch or 0), figures["map"])
        model.train()
        return figures

    def _load_from_checkpoint(self, checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(checkpoint, model)
        if self._average:
            self._average.load(Path(checkpoint))

    def _get_output_dir(self, trial: object = None) -> str:
        return str(staging(self._run))

    def _save_checkpoint(self, model: nn.Module, trial: object) -> None:
        """Write a checkpoint beside the others, then rename it to its place; delete older ones only after that."""
        name = f"checkpoint-{self.state.global_step}"
        with self._explained_save():
            with quiet():
                super()._save_checkpoint(model, trial)
            if self.args.world_size > 1:
                torch.distributed.barrier()
            if self.args.process_index == 0:
                if self._average:
                    self._average.save(staging(self._run) / name)
                write_manifest(staging(self._run) / name)
        if self.args.process_index == 0:
            final = self._run.checkpoints / name
            (staging(self._run) / name).rename(final)
            remove_older_checkpoints(self._run, final)

    @contextmanager
    def _explained_save(self) -> Iterator[None]:
        try:
            yield
        except WRITE_ERRORS as error:
            reason = write_failure(error, self._run.path)
            shutil.rmtree(staging(self._run), ignore_errors=True)
            message = f"{self._run.checkpoints}: could not save ({reason}); what was saved before is whole"
            raise AnselectError(f"{message}: make room, and the same command goes on from there") from error


class EpochControl(TrainerCallback):
    """Measures and saves at the end of each epoch, saves in between if asked to, and stops when dev MAP stalls."""

    def __init__(self, config: TrainingConfig) -> None:
        self._config = config

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        every = self._config.checkpoint_steps
        # Not at an epoch's last step: a training resumed from there would skip the epoch's dev figures.
        if every and state.global_step % every == 0 and (state.epoch or 0) % 1 != 0:
            control.should_save = True

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        control.should_log = control.should_evaluate = control.should_save = True

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        control.should_training_stop |= has_stalled(state.log_history, self._config)


class LogFile(TrainerCallback):
    """Writes what is logged to metrics.jsonl; a resumed training first puts back what its checkpoint knows."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        if state.is_world_process_zero:
            with write_text(self._run.log) as file:
                file.writelines(json.dumps(entry) + "\n" for entry in state.log_history)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        if state.is_world_process_zero and state.log_history:
            with self._run.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(state.log_history[-1]) + "\n")


def unit_loss(output: Any, units: Tensors, config: TrainingConfig) -> torch.Tensor:  # noqa: ANN401 - a model's output record
    """Return the mean loss over units (U, C) from a model's output for the rows that they name.

    Where the model makes first guesses, their own loss joins it.
    """
    if LOSSES[config.loss].reads == "cosine":
        return _loss(output.cosines, units, config)
    whole = _loss(output.logits, units, config)
    guesses = output.exit_logits
    return whole if guesses is None else whole + config.exit_weight * _loss(guesses, units, config)


def _loss(values: torch.Tensor, units: Tensors, config: TrainingConfig) -> torch.Tensor:
    loss = LOSSES[config.loss]
    if loss.reads == "logit":
        values = one_logit(values)
    elif loss.reads == "logits" and values.shape[-1] == 1:
        values = torch.cat([torch.zeros_like(values), values], dim=-1)  # sigmoid(l) is softmax((0, l))
    options: dict[str, Any] = {}
    if config.loss == "bertsel":
        options = {
            "entropy_weight": config.cross_entropy_weight,
            "hinge_weight": config.hinge_weight,
            "margin": config.margin,
        }
    elif config.loss == "listwise-and-pointwise":
        options = {"entropy_weight": config.cross_entropy_weight}
    elif config.loss == "distillation":
        options = {
            "teacher": units["unit_teacher"],
            "entropy_weight": config.cross_entropy_weight,
            "label_weight": config.label_weight,
        }
    return loss.function(values[units["unit_places"]], units["unit_labels"], units["unit_mask"], **options)


def training_arguments(config: TrainingConfig, run: RunFolder) -> TrainingArguments:
    """Translate a recipe's settings into the library's."""
    return TrainingArguments(
        output_dir=str(run.checkpoints),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size // config.accumulation_steps,
        gradient_accumulation_steps=config.accumulation_steps,
        gradient_checkpointing=config.gradient_checkpointing,
        learning_rate=config.learning_rate,
        # Adam and AdamW are one without decay; Adam adds decay to the gradient, which none of the papers asks for.
        weight_decay=config.weight_decay if config.optimizer == "adamw" else 0.0,
        warmup_steps=config.warmup_share,
        max_grad_norm=config.max_gradient_norm,
        fp16=config.precision == "fp16",
        bf16=config.precision == "bf16",
        seed=config.seed,
        data_seed=config.seed,
        save_strategy="no",
        eval_strategy="no",
        logging_strategy="steps",
        logging_steps=10,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not torch.cuda.is_available(),
        ddp_find_unused_parameters=False,
    )


def has_stalled(log: Sequence[Mapping[str, Any]], config: TrainingConfig) -> bool:
    """Tell from what was logged whether dev MAP has not risen for `patience` epochs."""
    figures = [entry["eval_map"] for entry in log if "eval_map" in entry]
    since_best = len(figures) - 1 - figures.index(max(figures)) if figures else 0
    return bool(config.patience) and since_best >= config.patience


def whole_checkpoint(run: RunFolder) -> Path | None:
    """Return the checkpoint to go on from, if there is one; raise DataError if it or the best model is damaged."""
    checkpoint = last_checkpoint(run)
    # Checkpoints of the first development versions have no manifest; they were renamed into place whole.
    if checkpoint is not None and (checkpoint / MANIFEST).is_file():
        try:
            check_checkpoint(checkpoint)
            if run.model.is_dir():
                check_checkpoint(run.model)
        except DataError as error:
            raise DataError(f"{error}, or remove {run.path} to train anew") from error
    return checkpoint


def checkpoint_log(checkpoint: Path) -> list[dict[str, Any]]:
    """Return what a checkpoint's training had logged."""
    state: dict[str, Any] = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    return list(state["log_history"])
