"""Units come in, padded tensors go out: a training's data loader, cut into shares for processes and accumulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from anselect.config import TrainingConfig
from anselect.training.sampling import Unit, draw_units, make_batches

Tensors = dict[str, torch.Tensor]


class Rows(Protocol):
    """Question-candidate pairs by row number, ready to be padded."""

    @property
    def groups(self) -> Sequence[Sequence[int]]:
        """Row numbers of each question."""

    @property
    def labels(self) -> Sequence[int]:
        """1 or 0 for each row."""

    @property
    def teacher(self) -> Sequence[float]:
        """A teacher's logit for each row; empty where there is no teacher."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row, special ones included."""

    def collate(self, rows: Sequence[int]) -> Tensors:
        """Return the model's inputs for these rows, in this order."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one process sees in one forward pass."""

    units: tuple[Unit, ...]
    weight: float
    """Factor that makes the sum of all shares' mean losses the mean loss of the whole batch."""


class ShareSampler(Sampler[list[Share]]):
    """Yields this process's shares of one epoch's batches, in order; what it yields depends on seed and epoch alone.

    A batch is dealt out unit by unit to `processes × accumulation` shares. A share without a unit (the last batch can
    be smaller than their number) holds a unit of the batch with weight 0, so that all processes take as many steps.
    """

    def __init__(self, rows: Rows, config: TrainingConfig, *, process: int = 0, processes: int = 1) -> None:
        self._rows, self._config, self._process, self._processes = rows, config, process, processes
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration draws."""
        self._epoch = epoch

    def batches(self) -> list[list[Unit]]:
        """Return the epoch's batches, before they are dealt out."""
        config, seed = self._config, (self._config.seed, self._epoch)
        drawn = draw_units(
            self._rows.groups, self._rows.labels, loss=config.loss, negatives=config.negatives, seed=seed
        )
        return make_batches(
            drawn.units,
            self._rows.lengths,
            batch_size=config.batch_size,
            group_by_length=config.group_by_length,
            seed=seed,
        )

    def __iter__(self) -> Iterator[list[Share]]:
        for batch in self.batches():
            for step in range(self._config.accumulation_steps):
                yield [self._share(batch, step)]

    def __len__(self) -> int:
        return len(self.batches()) * self._config.accumulation_steps

    def _share(self, batch: Sequence[Unit], step: int) -> Share:
        shares = self._processes * self._config.accumulation_steps
        units = tuple(batch[step * self._processes + self._process :: shares])
        if not units:
            return Share((batch[0],), weight=0.0)
        # Gradients are averaged over processes and added up over accumulation steps.
        return Share(units, weight=len(units) * self._processes / len(batch))


class ShareDataset(Dataset[Tensors]):
    """Turns a share into tensors: the model's inputs for its distinct rows, and where each unit's rows stand there."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows.labels)

    def __getitem__(self, share: Share) -> Tensors:
        rows = sorted({row for unit in share.units for row in unit})
        place = {row: index for index, row in enumerate(rows)}
        width = max(len(unit) for unit in share.units)
        places = np.zeros((len(share.units), width), dtype=np.int64)
        labels, mask = np.zeros_like(places), np.zeros(places.shape, dtype=bool)
        for index, unit in enumerate(share.units):
            places[index, : len(unit)] = [place[row] for row in unit]
            labels[index, : len(unit)] = [self._rows.labels[row] for row in unit]
            mask[index, : len(unit)] = True
        units = {"unit_places": places, "unit_labels": labels, "unit_mask": mask}
        tensors = {name: torch.from_numpy(array) for name, array in units.items()}
        if self._rows.teacher:
            tensors["unit_teacher"] = self._teacher(share, width)
        return {**self._rows.collate(rows), **tensors, "unit_weight": torch.tensor(share.weight)}

    def _teacher(self, share: Share, width: int) -> torch.Tensor:
        logits = torch.zeros(len(share.units), width)
        for index, unit in enumerate(share.units):
            logits[index, : len(unit)] = torch.tensor([self._rows.teacher[row] for row in unit])
        return logits


class EpochLoader(DataLoader[Tensors]):
    """A data loader that passes the epoch on to its sampler."""

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch to draw; called by the trainer."""
        sampler: Any = self.batch_sampler
        sampler.set_epoch(epoch)


def train_loader(rows: Rows, config: TrainingConfig, *, process: int = 0, processes: int = 1) -> EpochLoader:
    """Build the loader of a training's batches."""
    sampler = ShareSampler(rows, config, process=process, processes=processes)
    # A generator of its own: iterating must not draw from the global one, which dropout uses.
    generator = torch.Generator().manual_seed(config.seed)
    return EpochLoader(ShareDataset(rows), batch_sampler=sampler, collate_fn=_only_item, generator=generator)


def _only_item(items: list[Tensors]) -> Tensors:
    return items[0]
