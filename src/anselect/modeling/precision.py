"""This machine in, the precision that its products are fastest in out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch


def fast_precision() -> Literal["bf16", "fp32"]:
    """Return bf16 where the processor multiplies in it: four times as fast there, slower than fp32 elsewhere.

    Weights, their updates and all sums stay in 32 bits either way.
    """
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if native else "fp32"


@contextmanager
def fast_products() -> Iterator[None]:
    """Multiply in the fastest precision: for scores of which nobody needs the last digits."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.autocast(device, dtype=torch.bfloat16, enabled=fast_precision() == "bf16"):
        yield
