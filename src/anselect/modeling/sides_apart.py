"""Token ids of pairs in, hidden states out: two texts that begin as strangers and learn to see each other.

An encoder that was tuned for single texts knows nothing of pairs: put behind a question, a candidate stands at places
and in a segment that it has never met, and half of what it attends to is another text. Here each side has a class token
and places of its own, both are of the first segment, and each head's attention to the other side is lowered by a number
that training changes. At first the two sides are therefore what the encoder makes of them alone, or nearly so, and its
cosine is all there; what a question and its candidate tell each other is learnt on top.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from anselect.modeling.bert_layers import as_bias, run_layers

STEP: Final = 30.0
"""Adam moves each weight by about the learning rate: what is stored counts so many times."""


class CrossAttention(nn.Module):
    """By how much each head of each layer lowers its attention to the other side."""

    def __init__(self, layers: int, heads: int, start: float) -> None:
        super().__init__()
        self.lowered = nn.Parameter(torch.full((layers, heads), start / STEP))

    def forward(self, layer: int) -> Tensor:
        """Return what is taken from a layer's attention between the sides, head by head."""
        return STEP * self.lowered[layer]

    def values(self) -> NDArray[np.float32]:
        """Return the same of all layers (layers, heads)."""
        return (STEP * self.lowered.detach()).float().cpu().numpy()

    def set_values(self, values: NDArray[np.float32]) -> None:
        """Take over what `values` returned."""
        with torch.no_grad():
            self.lowered.copy_(torch.from_numpy(values) / STEP)


def give_sides_class_tokens(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a BERT tokenizer join two texts as `[CLS] q [SEP] [CLS] c [SEP]`; the second half is of segment 1."""
    first, last = str(tokenizer.cls_token), str(tokenizer.sep_token)
    ids = [(first, int(tokenizer.cls_token_id)), (last, int(tokenizer.sep_token_id))]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 {first}:1 $B:1 {last}:1",
        special_tokens=ids,
    )


def read_sides_apart(encoder: PreTrainedModel, inputs: dict[str, Any], lowered: CrossAttention) -> BaseModelOutput:
    """Run a BERT encoder on pairs that are padded on the right."""
    bert: Any = encoder
    side, is_token = inputs["token_type_ids"], inputs["attention_mask"].bool()
    hidden: Tensor = bert.embeddings(
        input_ids=inputs["input_ids"], token_type_ids=torch.zeros_like(side), position_ids=_places(side, is_token)
    )
    unseen = as_bias(is_token[:, None, None, :], hidden.dtype)
    across = (side[:, None, :, None] != side[:, None, None, :]).to(hidden.dtype)
    return run_layers(
        encoder, hidden, lambda number: unseen - across * lowered(number).to(hidden.dtype)[None, :, None, None]
    )


def _places(side: Tensor, is_token: Tensor) -> Tensor:
    """Count the tokens of each side from 0.

    >>> _places(torch.tensor([[0, 0, 0, 1, 1, 0]]), torch.tensor([[1, 1, 1, 1, 1, 0]]).bool()).tolist()
    [[0, 1, 2, 0, 1, 5]]
    """
    places = torch.arange(side.shape[1], device=side.device).expand_as(side)
    asked = (is_token & (side == 0)).sum(dim=1, keepdim=True)
    return torch.where(side == 1, places - asked, places)
