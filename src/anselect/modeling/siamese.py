"""The siamese feature model of CETE (section 3.1): frozen token features of both texts come in, their cosine goes out.

One transformer encoder layer, shared by both sides, reads features plus positions; the mean over each text's own tokens
is its vector. The ablation (`encoder_layers=0`, CETE 5.3) takes the mean of the features themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.utils.generic import ModelOutput

from anselect.errors import UsageError
from anselect.modeling.encoders import masked_mean

MOST_HEADS: Final = 8


def default_heads(width: int) -> int:
    """Return the largest number of attention heads up to 8 that divides the width: CETE's 8, and its 6 for GloVe.

    >>> [default_heads(width) for width in (300, 768, 1024, 384, 50)]
    [6, 8, 8, 8, 5]
    """
    return next(heads for heads in range(MOST_HEADS, 0, -1) if width % heads == 0)


class SiameseConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Settings of a `SiameseModel`; transformers makes a dataclass of it."""

    model_type = "anselect-siamese"

    width: int = 300
    """d_model, and d_ff as well: the width of the features."""
    attention_heads: int | None = None
    """None: `default_heads(width)`."""
    encoder_layers: int = 1
    """CETE's best number; 0 for the ablation, which has nothing to train."""
    dropout: float = 0.2
    features: str = ""
    """Name of the feature source that the model was trained on."""
    max_tokens: int = 512
    highlight: str | None = None


@dataclass
class SiameseOutput(ModelOutput):
    """Cosine of each pair, in [-1, 1]."""

    cosines: Tensor | None = None


@dataclass(frozen=True, slots=True)
class FeatureBatch:
    """Token features of B texts, padded with zeros to T tokens."""

    features: Tensor
    """(B, T, D)"""
    mask: Tensor
    """(B, T), True at real tokens."""


def pad_features(features: Sequence[npt.NDArray[np.floating]], *, max_tokens: int | None = None) -> FeatureBatch:
    """Stack arrays of (tokens, D) into one padded batch; texts longer than `max_tokens` are cut behind."""
    cut = [np.asarray(array[:max_tokens], dtype=np.float32) for array in features]
    longest = max((len(array) for array in cut), default=0)
    padded = np.zeros((len(cut), max(longest, 1), cut[0].shape[1] if cut else 0), dtype=np.float32)
    mask = np.zeros(padded.shape[:2], dtype=bool)
    for row, array in enumerate(cut):
        padded[row, : len(array)] = array
        mask[row, : len(array)] = True
    return FeatureBatch(torch.from_numpy(padded), torch.from_numpy(mask))


class SiameseModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Two texts' features → one shared encoder layer → masked means → cosine."""

    config_class = SiameseConfig
    main_input_name = "question_features"

    config: SiameseConfig

    def __init__(self, config: SiameseConfig) -> None:
        super().__init__(config)
        # Never used: so that even the ablation, which has no weights, has a device, a type and a file.
        self.anchor = nn.Parameter(torch.ones(()), requires_grad=False)
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.encoder_layers))
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()  # type: ignore[no-untyped-call]

    @classmethod
    def from_pretrained(cls, *inputs: Any, **options: Any) -> Any:  # noqa: ANN401 - the library's signature
        """Load a saved model, as in every Hugging Face model."""
        loaded = super().from_pretrained(*inputs, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.anchor.requires_grad = False  # loading makes every weight trainable
        return loaded

    def forward(
        self, question_features: Tensor, question_mask: Tensor, candidate_features: Tensor, candidate_mask: Tensor
    ) -> SiameseOutput:
        """Return the cosine of each row's question and candidate; 0 where a text has no token."""
        question = self.encode(question_features, question_mask)
        candidate = self.encode(candidate_features, candidate_mask)
        return SiameseOutput(cosines=torch.cosine_similarity(question, candidate, dim=-1))

    def encode(self, features: Tensor, mask: Tensor) -> Tensor:
        """Return one vector per text (B, D) from its token features (B, T, D)."""
        hidden = features.masked_fill(~mask.unsqueeze(-1), 0.0)
        if len(self.layers):
            positions = positional_encoding(features.shape[1], features.shape[2]).to(hidden)
            # A text without tokens attends to its first (zero) place: attention over nothing is not a number.
            attended = mask | ((torch.arange(mask.shape[1], device=mask.device) == 0) & ~mask.any(dim=1, keepdim=True))
            # Scaled as in Vaswani et al., section 3.4: GloVe's vectors have norm 5 at width 300, the sinusoids 12, and
            # the mean over a text would be that of its positions.
            hidden = self.dropout(hidden * math.sqrt(features.shape[2]) + positions)
            for layer in self.layers:
                hidden = layer(hidden, src_key_padding_mask=~attended)
        return masked_mean(hidden, mask)

    @torch.inference_mode()
    def score(self, question: FeatureBatch, candidate: FeatureBatch) -> Tensor:
        """Return (1 + cosine) / 2 of each pair, in [0, 1], without dropout."""
        was_training = self.training
        self.eval()  # type: ignore[no-untyped-call]
        try:
            tensors = (question.features, question.mask, candidate.features, candidate.mask)
            cosines: Tensor = self(*(tensor.to(self.device) for tensor in tensors)).cosines
            return (1 + cosines) / 2
        finally:
            self.train(was_training)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Leave PyTorch's own start values, as CETE did: an encoder layer trained from nothing needs more than 0.02."""


def _layer(config: SiameseConfig) -> nn.TransformerEncoderLayer:
    heads, width = config.attention_heads or default_heads(config.width), config.width
    if width % heads:
        raise UsageError(
            f"{heads} attention heads do not divide the features' width {width}: try {default_heads(width)}"
        )
    return nn.TransformerEncoderLayer(width, heads, dim_feedforward=width, dropout=config.dropout, batch_first=True)


def positional_encoding(tokens: int, width: int) -> Tensor:
    """Return the sinusoids of Vaswani et al. (tokens, width): sin at even places, cos at odd ones.

    >>> positional_encoding(2, 4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(tokens).unsqueeze(1) * rates  # (tokens, ⌈width / 2⌉)
    encoding = torch.empty(tokens, width)
    encoding[:, 0::2] = torch.sin(angles)
    encoding[:, 1::2] = torch.cos(angles[:, : width // 2])
    return encoding
