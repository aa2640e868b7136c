"""A classifier and questions with target distributions in, the trained classifier out; stops and goes on by epoch."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from anselect.text.answer_type_labels import COARSE_TYPES, FINE_TYPES
from anselect.training.answer_type_model import Student
from anselect.training.answer_type_variants import vary

logger = logging.getLogger(__name__)

Targets = NDArray[np.float32]
"""One row per question, one column per fine type; rows sum to 1."""
MAX_TOKENS = 64
_POOL = 16
_COARSE_OF_FINE = np.array([COARSE_TYPES.index(fine.partition(":")[0]) for fine in FINE_TYPES])
_TO_COARSE = torch.from_numpy(np.eye(len(COARSE_TYPES), dtype=np.float32)[_COARSE_OF_FINE])


@dataclass(frozen=True, slots=True)
class FitConfig:
    """How to fit a classifier."""

    epochs: int
    learning_rate: float
    """Of the top layer; each layer below has `layer_decay` times that of the one above."""
    layer_decay: float = 0.9
    head_learning_rate: float = 1e-3
    batch_size: int = 32
    warm_up: float = 0.1
    weight_decay: float = 0.01
    coarse_weight: float = 0.5
    """Weight of the cross-entropy over coarse types beside that over fine types."""
    varied: float = 0.7
    """Share of the questions that are rewritten anew in each epoch."""
    seed: int = 0


def fit(
    model: Student, tokenizer: Tokenizer, texts: Sequence[str], targets: Targets, config: FitConfig, checkpoint: Path
) -> None:
    """Train the model in place; a checkpoint of an earlier, interrupted call is taken up where it ended."""
    optimizer = torch.optim.AdamW(_parameter_groups(model, config))
    steps = math.ceil(len(texts) / config.batch_size) * config.epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step / steps, config.warm_up))
    first = _take_up(checkpoint, model, optimizer, schedule)
    for epoch in range(first, config.epochs):
        # Seeding by epoch makes a resumed training equal to an uninterrupted one.
        torch.manual_seed(config.seed * 1000 + epoch)
        chance = Random(f"{config.seed}-{epoch}")
        losses = []
        model.train()
        for ids, mask, rows in _batches(tokenizer, texts, chance, config):
            loss = soft_loss(model(ids, mask), torch.from_numpy(targets[rows]), config.coarse_weight)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        _save(checkpoint, model, optimizer, schedule, epoch + 1)
        logger.info("%s: epoch %d of %d, loss %.4f", checkpoint.stem, epoch + 1, config.epochs, np.mean(losses))


def soft_loss(logits: Tensor, targets: Tensor, coarse_weight: float) -> Tensor:
    """Return the cross-entropy of the fine types plus the weighted cross-entropy of the coarse ones."""
    fine = -(targets * logits.log_softmax(-1)).sum(-1)
    coarse = -((targets @ _TO_COARSE) * (logits.softmax(-1) @ _TO_COARSE + 1e-9).log()).sum(-1)
    return (fine + coarse_weight * coarse).mean()


def predict(model: Student, tokenizer: Tokenizer, texts: Sequence[str], *, batch_size: int = 64) -> Targets:
    """Return the probabilities of the fine types for each text."""
    model.eval()
    result = np.zeros((len(texts), len(FINE_TYPES)), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            ids, mask = _encode(tokenizer, [texts[row] for row in rows])
            result[rows] = model(ids, mask).softmax(-1).numpy()
    return result


def one_hot(fine: Sequence[int], smoothing: float) -> Targets:
    """Return targets that give the label 1 - smoothing and share the rest evenly among all types."""
    even = np.full((len(fine), len(FINE_TYPES)), smoothing / len(FINE_TYPES), dtype=np.float32)
    even[np.arange(len(fine)), fine] += 1 - smoothing
    return even


def _rate(progress: float, warm_up: float) -> float:
    return (progress + 1e-3) / warm_up if progress < warm_up else (1 - progress) / (1 - warm_up)


def _parameter_groups(model: Student, config: FitConfig) -> list[dict[str, Any]]:
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        layer = model.layer_of(name)
        parameter.requires_grad = layer is not None
        if layer is not None:
            groups.setdefault((layer, parameter.ndim > 1), []).append(parameter)
    return [
        {
            "params": parameters,
            "lr": config.head_learning_rate
            if layer > model.layers
            else config.learning_rate * config.layer_decay ** (model.layers - layer),
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for (layer, decays), parameters in groups.items()
    ]


def _batches(
    tokenizer: Tokenizer, texts: Sequence[str], chance: Random, config: FitConfig
) -> Iterator[tuple[Tensor, Tensor, list[int]]]:
    """Yield batches of questions of about the same length, in random order, rewritten at random."""
    written = [vary(text, chance) if chance.random() < config.varied else text for text in texts]
    order = list(range(len(texts)))
    chance.shuffle(order)
    batches = []
    size = config.batch_size
    for start in range(0, len(order), size * _POOL):
        pool = sorted(order[start : start + size * _POOL], key=lambda row: len(written[row]))
        batches += [pool[place : place + size] for place in range(0, len(pool), size)]
    chance.shuffle(batches)
    for rows in batches:
        yield *_encode(tokenizer, [written[row] for row in rows]), rows


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    encoded = [torch.tensor(tokenizer.encode(text).ids) for text in texts]
    # The masked places hold a valid id: which one does not matter.
    ids = nn.utils.rnn.pad_sequence(encoded, batch_first=True, padding_value=0)
    lengths = torch.tensor([len(row) for row in encoded])
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


def _save(path: Path, model: Student, optimizer: Optimizer, schedule: LRScheduler, epochs: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
    torch.save({**state, "epochs": epochs}, part)
    part.replace(path)


def _take_up(path: Path, model: Student, optimizer: Optimizer, schedule: LRScheduler) -> int:
    if not path.is_file():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    return int(state["epochs"])
