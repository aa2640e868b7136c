"""A model and the tokens that it is to read in; operations, seconds on this machine and memory out.

Speed is a CPU's, measured in CPU time: other work on the machine does not change what an estimate says.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.siamese import SiameseModel

USEFUL_SHARE: Final = 0.5
"""Share of the matrix speed that trainings reach. Seen, in CPU time: 0.61 (MiniLM), 0.58 and 0.65 (siamese model on
GloVe and MiniLM) with one thread, 0.53 (MiniLM) with two; the rest is for what comes around the steps."""
BYTES_PER_PARAMETER: Final = 16
"""Weight, gradient and Adam's two moments in float32."""
VALUES_PER_TOKEN_AND_LAYER: Final = 34
"""Activations kept for the backward pass, in widths of the encoder (Korthikanti et al. 2022, no attention maps)."""
PROBE: Final = (1024, 768, 3072)
PROBE_ROUNDS: Final = 5

Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's weights, by what they cost."""

    count: int
    used: int
    """Those that are multiplied with every token: all but embeddings, of which a token takes one row."""
    trained: int
    """Those of the used that get a gradient."""
    layers: int
    width: int


def count_weights(model: PreTrainedModel) -> Weights:
    """Count the weights of a cross-encoder, a siamese model or a bare encoder."""
    # Not by the attribute: BERT itself has a part called `encoder`.
    encoder: Any = model.encoder if isinstance(model, AnswerSelectionModel) else model
    is_siamese = isinstance(model, SiameseModel)
    embedding = None if is_siamese else encoder.get_input_embeddings().weight
    used = [weight for weight in model.parameters() if weight is not embedding]
    config: Any = encoder.config
    return Weights(
        count=sum(weight.numel() for weight in model.parameters()),
        used=sum(weight.numel() for weight in used),
        trained=sum(weight.numel() for weight in used if weight.requires_grad),
        layers=config.encoder_layers if is_siamese else config.num_hidden_layers,
        width=config.width if is_siamese else config.hidden_size,
    )


def count_operations(weights: Weights, *, trained_tokens: int, scored_tokens: int) -> float:
    """Count the operations on tokens that are trained on, and on those that are only scored.

    Two a weight and token forward, and four more backward for a weight with a gradient.
    """
    forward = 2.0 * weights.used * (trained_tokens + scored_tokens)
    return forward + 4.0 * weights.trained * trained_tokens


def padded_tokens(sides: Sequence[Lengths], rows: Iterable[int], *, rows_per_pass: int = 0) -> int:
    """Count the tokens that a model computes for rows at once: each side as wide as its longest row there.

    With `rows_per_pass`, rows are sorted by length and go so many at a time.

    >>> lengths = np.array([3, 9, 4])
    >>> padded_tokens([lengths], [0, 1, 2]), padded_tokens([lengths], [0, 1, 2], rows_per_pass=2)
    (27, 17)
    """
    ordered = np.array(sorted(rows, key=lambda row: int(sides[0][row])))
    size = rows_per_pass or max(len(ordered), 1)
    parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return sum(len(part) * int(side[part].max()) for part in parts for side in sides)


def estimate_memory(weights: Weights, tokens_at_once: int) -> int:
    """Return the bytes that a training needs at most, roughly."""
    activations = 4 * VALUES_PER_TOKEN_AND_LAYER * tokens_at_once * weights.layers * weights.width
    return weights.count * BYTES_PER_PARAMETER + activations


def estimate_seconds(operations: float) -> float:
    """Return how long operations take on this machine's processor if it has nothing else to do."""
    return operations / (measure_speed() * USEFUL_SHARE)


def measure_speed() -> float:
    """Measure float32 operations a second on matrix products of a training's size, all threads together.

    One thread's CPU time, the best round: a thread that waits for its turn on a busy machine is not slower for it.
    """
    threads = torch.get_num_threads()
    rows, inner, columns = PROBE
    left, right = torch.rand(rows, inner), torch.rand(inner, columns)
    torch.set_num_threads(1)
    try:
        seconds = min(_product_seconds(left, right) for _ in range(PROBE_ROUNDS + 1))
    finally:
        torch.set_num_threads(threads)
    return threads * 2.0 * rows * inner * columns / seconds


def _product_seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    start = time.thread_time()
    torch.mm(left, right)
    # Some systems count CPU time in steps of 10 ms.
    return max(time.thread_time() - start, 1e-3)
