"""Token states and what attention may see in, the states of all of a BERT encoder's layers out.

The library's own forward pass gives all layers one mask; here each layer may have its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from anselect.errors import UsageError


def require_bert(encoder: PreTrainedModel, setting: str) -> None:
    """Raise UsageError for an encoder whose layers cannot be run one by one, which a setting asks for."""
    if encoder.config.model_type != "bert":
        raise UsageError(f"{setting} is for BERT, got '{encoder.config.model_type}'")


def run_layers(encoder: PreTrainedModel, hidden: Tensor, bias: Callable[[int], Tensor]) -> BaseModelOutput:
    """Run the layers one after the other; `bias` gives what is added to the attention's logits of each of them."""
    bert: Any = encoder
    states = [hidden]
    for number, layer in enumerate(bert.encoder.layer):
        hidden = layer(hidden, bias(number))
        states.append(hidden)
    return BaseModelOutput(last_hidden_state=hidden, hidden_states=tuple(states))  # type: ignore[arg-type]


def as_bias(allowed: Tensor, kind: torch.dtype) -> Tensor:
    """Return what is added to attention's logits, by whichever code computes it."""
    return torch.zeros(allowed.shape, dtype=kind, device=allowed.device).masked_fill(~allowed, torch.finfo(kind).min)
