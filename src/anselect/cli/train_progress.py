"""A progress bar on stderr while a training runs: loss, pairs a second, time left, dev MAP after each epoch."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from anselect.cli.output import print_note


class ProgressBar(TrainerCallback):
    """Shows a bar where stderr is a terminal, and a line per epoch where it is not."""

    def __init__(self) -> None:
        console = Console(file=sys.stderr)
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]} units/s"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, epoch="0.0", loss="-", speed="-")
        self._first_step, self._started = 0, 0.0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Start at the step that a resumed training has reached."""
        self._first_step, self._started = state.global_step, time.monotonic()
        self._progress.update(self._task, total=state.max_steps, completed=state.global_step)
        if state.is_world_process_zero:
            self._progress.start()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Move the bar."""
        units = (
            (state.global_step - self._first_step) * args.per_device_train_batch_size * args.gradient_accumulation_steps
        )
        speed = f"{units / max(time.monotonic() - self._started, 1e-9):.0f}"
        self._progress.update(self._task, completed=state.global_step, epoch=f"{state.epoch or 0:.1f}", speed=speed)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Show the newest loss."""
        loss = state.log_history[-1].get("loss") if state.log_history else None
        if loss is not None:
            self._progress.update(self._task, loss=f"{loss:.4f}")

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Tell the epoch's dev figures."""
        figures = state.log_history[-1]
        if state.is_world_process_zero:
            print_note(
                f"epoch {state.epoch or 0:.0f}: dev MAP {figures['eval_map']:.4f}, MRR {figures['eval_mrr']:.4f}"
            )

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()
