"""Token vectors of a pair come in, logits go out: the four papers' classifiers and one of our own, in `HEADS`.

A head sees the class token's vector (B, D), all token vectors (B, T, D) and one mask per side (B, T). Sums, pools and
recurrences read the tokens of their own side only: never padding, separators or the other side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from anselect.errors import UsageError
from anselect.modeling.encoders import masked_mean

HIDDEN_UNITS: Final = 1024
FILTERS: Final = 200
# BAS contradicts itself: window 3 with padding 2 in section 3-3-3 and figure 9, window 2 in section 4-2. We take 3,
# which is stated twice, and for which padding 2 lets every window that touches a token count.
WINDOW: Final = 3
PADDING: Final = WINDOW - 1
RECURRENT_LAYERS: Final = 2
COSINE_SCALE: Final = 10.0
"""Cosines of sides spread by a tenth, logits by one."""
USUAL_COSINE: Final = 0.7
"""About the mean cosine of two sides that have read each other."""

CELLS: Final[Mapping[str, type[nn.RNN | nn.GRU | nn.LSTM]]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """What a head is built from."""

    width: int
    """D, the encoder's width."""
    dropout: float = 0.2
    cell: str = "rnn"
    """Recurrent cell of the `rnn` head: rnn, gru or lstm."""


class Head(nn.Module, ABC):
    """Maps a pair's vectors to logits; two per pair unless `labels` says otherwise."""

    labels = 2

    @abstractmethod
    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        """Return the logits (B, labels) of hidden states (B, T, D)."""

    def begin(self, *, exactly: bool = False) -> None:
        """Set start values that are not random; most heads have none. `exactly`: nothing random beside them."""


class LinearHead(Head):
    """Laskar 2019 and CETE: softmax(C Wᵀ) over the class token's vector C.

    The formula has no bias; we keep one. It cannot change the order of candidates (it shifts every pair's logits
    alike), it lets P(correct) follow the share of correct candidates, and the code behind CETE has it too.
    """

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.width, self.labels)

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(class_vector))
        return logits


class SigmoidHead(LinearHead):
    """BERTSel: a fully connected layer to one logit, whose sigmoid is the score."""

    labels = 1


class Classifier(nn.Module):
    """BAS: W₂ · relu(W₁ · x + b₁) + b₂ with 1,024 hidden units.

    The paper counts weights only, without biases: 768 × 1024 + 1024 × 2 = 788,480 ("789k") for `fc`,
    3 × 768 × 1024 + 1024 × 2 = 2,361,344 ("2361k") for `bow` and `rnn`, (2 × 200 + 768) × 1024 + 1024 × 2 = 1,198,080
    ("1200k") for `cnn`. Biases add 1,026 to each.
    """

    def __init__(self, inputs: int, dropout: float) -> None:
        super().__init__()
        self.input_dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(inputs, HIDDEN_UNITS)
        self.hidden_dropout = nn.Dropout(dropout)
        self.output = nn.Linear(HIDDEN_UNITS, Head.labels)

    def forward(self, *vectors: Tensor) -> Tensor:
        """Return the logits (B, 2) of the joined vectors."""
        hidden = torch.relu(self.hidden(self.input_dropout(torch.cat(vectors, dim=-1))))
        logits: Tensor = self.output(self.hidden_dropout(hidden))
        return logits


class FullyConnectedHead(Head):
    """BAS BERT-base + FC: the class token's vector through one hidden layer."""

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        self.classifier = Classifier(settings.width, settings.dropout)

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        logits: Tensor = self.classifier(class_vector)
        return logits


class BagOfWordsHead(Head):
    """BAS BERT-base + BOW: class token, sum of the question's tokens, sum of the candidate's tokens."""

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        self.classifier = Classifier(3 * settings.width, settings.dropout)

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        sums = [_keep(hidden, mask).sum(dim=1) for mask in (question_mask, candidate_mask)]
        logits: Tensor = self.classifier(class_vector, *sums)
        return logits


class ConvolutionHead(Head):
    """BAS BERT-base + CNN: class token and, for each side, 200 filters of window 3, max-pooled.

    The paper counts "2 × 768 × 2 = 3k" parameters for the convolutions, which forgets the 200 filters and takes the
    other window size: two convolutions hold 2 × (3 × 768 × 200 + 200) = 922,000.
    """

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        self.question = nn.Conv1d(settings.width, FILTERS, WINDOW, padding=PADDING)
        self.candidate = nn.Conv1d(settings.width, FILTERS, WINDOW, padding=PADDING)
        self.classifier = Classifier(settings.width + 2 * FILTERS, settings.dropout)

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        question = _strongest(self.question, hidden, question_mask)
        candidate = _strongest(self.candidate, hidden, candidate_mask)
        logits: Tensor = self.classifier(class_vector, question, candidate)
        return logits


class RecurrentHead(Head):
    """BAS BERT-base + RNN: class token and, for each side, the last state of two stacked recurrent layers.

    The paper counts "2 × 768 = 1k" parameters, a count of units, not of weights: one plain recurrent layer of width 768
    has 2 × 768 × 768 weights, and two layers for each of two sides hold 4,724,736 parameters with biases.
    """

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        if settings.cell not in CELLS:
            raise UsageError(f"unknown cell '{settings.cell}': choose from {', '.join(CELLS)}")
        self.question, self.candidate = _stack(settings), _stack(settings)
        self.classifier = Classifier(3 * settings.width, settings.dropout)

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        question = _last_state(self.question, hidden, question_mask)
        candidate = _last_state(self.candidate, hidden, candidate_mask)
        logits: Tensor = self.classifier(class_vector, question, candidate)
        return logits


class MatchHead(Head):
    """Our own: a linear layer over the pair's vector and the means of both sides, multiplied and subtracted.

    It begins near the cosine of the two means: an encoder that was tuned for cosines of single texts ranks by it from
    the first step on, though each side has read the other here.
    """

    def __init__(self, settings: HeadSettings) -> None:
        super().__init__()
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(3 * settings.width, self.labels)

    def begin(self, *, exactly: bool = False) -> None:
        """Let a usual cosine mean even odds, else the first steps would unlearn what the encoder knows."""
        start = COSINE_SCALE / 2 * USUAL_COSINE
        with torch.no_grad():
            if exactly:
                self.output.weight.zero_()
            self.output.bias.copy_(torch.tensor([start, -start]))

    def forward(self, hidden: Tensor, class_vector: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        sides = (masked_mean(hidden, mask) for mask in (question_mask, candidate_mask))
        question, candidate = (nn.functional.normalize(side, dim=-1) for side in sides)
        width = hidden.shape[-1]
        # Brought to the size of a vector of ones: a single entry of a unit vector is small.
        product, distance = width * question * candidate, width**0.5 * (question - candidate).abs()
        logits: Tensor = self.output(self.dropout(torch.cat([class_vector, product, distance], dim=-1)))
        start = COSINE_SCALE / 2 * (question * candidate).sum(dim=-1, keepdim=True)
        return logits + torch.cat([-start, start], dim=-1)


AnyHead = LinearHead | FullyConnectedHead | BagOfWordsHead | ConvolutionHead | RecurrentHead | MatchHead
HEADS: Final[Mapping[str, type[AnyHead]]] = {
    "linear": LinearHead,
    "fc": FullyConnectedHead,
    "bow": BagOfWordsHead,
    "cnn": ConvolutionHead,
    "rnn": RecurrentHead,
    "sigmoid": SigmoidHead,
    "match": MatchHead,
}


def build_head(name: str, settings: HeadSettings) -> Head:
    """Build a head by name; raises UsageError with the known names for an unknown one."""
    if name not in HEADS:
        raise UsageError(f"unknown head '{name}': choose from {', '.join(HEADS)}")
    return HEADS[name](settings)


def one_logit(logits: Tensor) -> Tensor:
    """Fold logits (…, 1) or (…, 2) into one value per pair whose sigmoid is P(correct).

    Two classes fold to l₁ - l₀, for softmax(l)₁ = sigmoid(l₁ - l₀): nothing is lost.
    """
    return logits.squeeze(-1) if logits.shape[-1] == 1 else logits[..., 1] - logits[..., 0]


def compact(hidden: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Move each row's masked-in tokens to its left, in order, and put zeros behind them: (B, L, D) and lengths (B)."""
    tokens = mask.shape[1]
    places = torch.arange(tokens, device=mask.device)
    order = torch.where(mask, places, places + tokens).argsort(dim=1)  # (B, T), kept tokens first
    lengths = mask.sum(dim=1)
    if not (torch.jit.is_tracing() or torch.compiler.is_compiling()):  # type: ignore[attr-defined,no-untyped-call]
        order = order[:, : max(int(lengths.max()), 1)]  # (B, L): shorter rows cost less; a traced graph keeps T
    gathered = hidden.gather(1, order.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))  # (B, L, D)
    return _keep(gathered, _first(lengths, order.shape[1])), lengths


def _keep(hidden: Tensor, mask: Tensor) -> Tensor:
    # masked_fill rather than a product: whatever stands at a masked place, even a NaN, is gone.
    return hidden.masked_fill(~mask.unsqueeze(-1), 0.0)


def _first(lengths: Tensor, size: int) -> Tensor:
    """Return (B, size): True at the first `lengths` places of each row."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)


def _strongest(convolution: nn.Conv1d, hidden: Tensor, mask: Tensor) -> Tensor:
    tokens, lengths = compact(hidden, mask)
    windows = convolution(tokens.transpose(1, 2))  # (B, 200, L + 2)
    # A side of n tokens alone gives n + 2 windows; those further right see padding only.
    touches = _first(lengths + PADDING, windows.shape[2]) & (lengths > 0).unsqueeze(1)
    strongest: Tensor = windows.masked_fill(~touches.unsqueeze(1), float("-inf")).amax(dim=2)
    return strongest.masked_fill((lengths == 0).unsqueeze(1), 0.0)


def _stack(settings: HeadSettings) -> nn.RNNBase:
    cell, width = CELLS[settings.cell], settings.width
    return cell(width, width, num_layers=RECURRENT_LAYERS, batch_first=True, dropout=settings.dropout)


def _last_state(recurrent: nn.RNNBase, hidden: Tensor, mask: Tensor) -> Tensor:
    tokens, lengths = compact(hidden, mask)
    states = recurrent(tokens)[0]  # (B, L, D); one direction, so what stands behind a row's end cannot reach its states
    last = (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, states.shape[2])
    return _keep(states.gather(1, last), (lengths > 0).unsqueeze(1)).squeeze(1)
