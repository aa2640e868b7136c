"""The torch side of the answer-type detector: a short BERT whose last layer looks only at its first token.

Written out by hand because the last layer computes one row instead of all, which is what makes it fast on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from anselect.text.answer_type_labels import FINE_TYPES

WIDTH = 384
HEADS = 12
INNER = 1536
POSITIONS = 64
LAYER_NORM_EPSILON = 1e-12


class Block(nn.Module):
    """One BERT layer; with `first_only` it returns the first position's vector only."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH, eps=LAYER_NORM_EPSILON)
        self.output_norm = nn.LayerNorm(WIDTH, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor, *, first_only: bool = False) -> Tensor:
        """Map (B, T, D) to (B, T, D), or to (B, 1, D) with `first_only`; mask (B, 1, 1, T), true = read."""
        asked = hidden[:, :1] if first_only else hidden
        query, key, value = _split(self.query(asked)), _split(self.key(hidden)), _split(self.value(hidden))
        drop = self.dropout.p if self.training else 0.0
        read = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=drop)
        read = read.transpose(1, 2).flatten(2)  # (B, heads, T, D / heads) → (B, T, D)
        hidden = self.attention_norm(asked + self.dropout(self.out(read)))
        change: Tensor = self.outer(functional.gelu(self.inner(hidden)))
        normed: Tensor = self.output_norm(hidden + self.dropout(change))
        return normed


class Student(nn.Module):
    """Token ids in, one logit per fine type out."""

    def __init__(self, vocabulary_size: int, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.layers = layers
        self.tokens = nn.Embedding(vocabulary_size, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(layers))
        self.head = nn.Linear(WIDTH, len(FINE_TYPES))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def layer_of(self, name: str) -> int | None:
        """Return a parameter's layer; the word pieces stay as they are, so that rare ones keep their neighbours."""
        if name.startswith("head."):
            return self.layers + 1
        if name == "tokens.weight":
            return None
        return int(name.split(".")[1]) + 1 if name.startswith("blocks.") else 0

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Map ids (B, T) and mask (B, T), true = a real token, to logits (B, fine types)."""
        hidden = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        hidden = self.dropout(self.norm(hidden))
        wide = mask[:, None, None, :]
        for block in self.blocks[:-1]:
            hidden = block(hidden, wide)
        hidden = self.blocks[-1](hidden, wide, first_only=True)
        logits: Tensor = self.head(self.dropout(hidden[:, 0]))
        return logits


def start_from_bert(
    student: Student, weights: Mapping[str, Tensor], *, layers: Sequence[int], pieces: Sequence[int]
) -> None:
    """Copy a BERT checkpoint's embeddings (of the kept word pieces) and the named layers into the student."""
    words = weights["embeddings.word_embeddings.weight"]
    state = {
        "tokens.weight": words[torch.tensor(pieces)],
        # Every text is one segment: its vector is the same everywhere and goes into the positions.
        "positions.weight": weights["embeddings.position_embeddings.weight"][:POSITIONS]
        + weights["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for place, layer in enumerate(layers):
        for own, theirs in _BERT_NAMES.items():
            for part in ("weight", "bias"):
                state[f"blocks.{place}.{own}.{part}"] = weights[f"encoder.layer.{layer}.{theirs}.{part}"]
    missing, unexpected = student.load_state_dict(state, strict=False)
    if unexpected or set(missing) != {"head.weight", "head.bias"}:
        raise ValueError(f"the checkpoint does not fit: missing {missing}, unexpected {unexpected}")


_BERT_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "output_norm": "output.LayerNorm",
}


def _split(hidden: Tensor) -> Tensor:
    return hidden.reshape(*hidden.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)
