"""A model in training comes in step by step, the running mean of its weights goes out: steadier than any one step's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

FILE: Final = "average.safetensors"


class WeightAverage(TrainerCallback):
    """An exponential mean over about the last `steps` steps of every weight that is trained.

    The first steps count equally: the mean of n steps until there are `steps` of them.
    """

    def __init__(self, model: nn.Module, steps: int) -> None:
        self._model, self._steps = model, steps
        self._means: dict[str, Tensor] = {}

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Take the weights after a step in."""
        self.update(state.global_step)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after the step with this number, from 1, in."""
        share = 1.0 / min(step, self._steps)
        for name, weights in self._trained():
            mean = self._means.get(name)
            if mean is None:
                self._means[name] = weights.detach().clone()
            else:
                mean.lerp_(weights, share)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the means for a while."""
        own = {name: weights.data for name, weights in self._trained() if name in self._means}
        for name, weights in self._trained():
            weights.data = self._means.get(name, weights.data)
        try:
            yield
        finally:
            for name, weights in self._trained():
                weights.data = own.get(name, weights.data)

    def save(self, folder: Path) -> None:
        """Write the means into a checkpoint's folder."""
        save_file({name: mean.contiguous() for name, mean in self._means.items()}, folder / FILE)

    def load(self, folder: Path) -> None:
        """Read the means of a checkpoint, to go on from there."""
        self._means = load_file(folder / FILE)

    def _trained(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((name, weights) for name, weights in self._model.named_parameters() if weights.requires_grad)
