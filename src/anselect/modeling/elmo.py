"""ELMo (Peters et al. 2018): character ids of sentences come in, three layers of word vectors go out.

Reads the published `options.json` and `weights.hdf5`. Written here because the library that had it is no longer kept up
and does not install beside current PyTorch; the arithmetic follows the published weights' own format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, cast

import torch
from torch import Tensor, nn

from anselect.modeling.elmo_characters import batch_characters
from anselect.modeling.elmo_files import ElmoOptions, ElmoWeights, fill, read_options

ACTIVATIONS: Final = {"relu": torch.relu, "tanh": torch.tanh}
FORGET_BIAS: Final = 1.0
"""Added to the forget gate; the published biases leave it out."""

State = tuple[Tensor, Tensor]
"""Output (B, projection) and memory (B, cell) of one layer in one direction."""


class CharacterEncoder(nn.Module):
    """Character ids (N, characters) → word vectors (N, projection) that know nothing of their neighbours."""

    def __init__(self, options: ElmoOptions, weights: ElmoWeights) -> None:
        super().__init__()
        embeddings = weights.read("char_embed")
        zero = torch.zeros(1, embeddings.shape[1])  # the id 0 is padding of whole words
        self.embedding = nn.Embedding(len(embeddings) + 1, embeddings.shape[1], padding_idx=0)
        fill(self.embedding.weight, torch.cat([zero, embeddings]))
        self.activation = ACTIVATIONS[options.activation]
        self.convolutions = nn.ModuleList()
        for index, (window, number) in enumerate(options.filters):
            convolution = nn.Conv1d(options.character_width, number, window)
            # Published as (1, window, input, output).
            fill(convolution.weight, weights.read(f"CNN/W_cnn_{index}").squeeze(0).permute(2, 1, 0))
            fill(convolution.bias, weights.read(f"CNN/b_cnn_{index}"))
            self.convolutions.append(convolution)
        self.carries = nn.ModuleList(
            weights.linear(f"CNN_high_{i}", "W_carry", "b_carry") for i in range(options.highways)
        )
        self.transforms = nn.ModuleList(
            weights.linear(f"CNN_high_{i}", "W_transform", "b_transform") for i in range(options.highways)
        )
        self.projection = weights.linear("CNN_proj", "W_proj", "b_proj")

    def forward(self, characters: Tensor) -> Tensor:
        """Return the vectors of N words."""
        embedded = self.embedding(characters).transpose(1, 2)  # (N, width, characters)
        pooled = [self.activation(convolution(embedded).amax(dim=2)) for convolution in self.convolutions]
        words = torch.cat(pooled, dim=1)
        for carry, transform in zip(self.carries, self.transforms, strict=True):
            gate = torch.sigmoid(carry(words))
            words = gate * torch.relu(transform(words)) + (1 - gate) * words
        projected: Tensor = self.projection(words)
        return projected


class ProjectedLstm(nn.Module):
    """One direction of one layer: an LSTM whose memory and projected output are clipped."""

    def __init__(self, options: ElmoOptions, weights: ElmoWeights, place: str) -> None:
        super().__init__()
        self.options = options
        # (input + recurrent, 4 × cell); the four are input gate, candidate memory, forget gate, output gate.
        self.gates = weights.linear(place, "W_0", "B")
        self.projection = nn.Linear(options.cell, options.projection, bias=False)
        fill(self.projection.weight, weights.read(f"{place}/W_P_0").T)

    def forward(self, inputs: Tensor, mask: Tensor, state: State) -> tuple[Tensor, State]:
        """Return outputs (B, T, projection) and the state after each row's last real word; padding changes nothing."""
        output, memory = state
        outputs = []
        for step in range(inputs.shape[1]):
            new_output, new_memory = self._step(inputs[:, step], output, memory)
            real = mask[:, step].unsqueeze(1)
            output, memory = torch.where(real, new_output, output), torch.where(real, new_memory, memory)
            outputs.append(new_output.masked_fill(~real, 0.0))
        return torch.stack(outputs, dim=1), (output, memory)

    def _step(self, word: Tensor, output: Tensor, memory: Tensor) -> State:
        gates = self.gates(torch.cat([word, output], dim=1))
        opened, candidate, kept, shown = gates.chunk(4, dim=1)
        memory = torch.sigmoid(kept + FORGET_BIAS) * memory + torch.sigmoid(opened) * torch.tanh(candidate)
        memory = memory.clamp(-self.options.cell_clip, self.options.cell_clip)
        projected = self.projection(torch.sigmoid(shown) * torch.tanh(memory))
        return projected.clamp(-self.options.projection_clip, self.options.projection_clip), memory


@dataclass(frozen=True, slots=True)
class ElmoLayers:
    """All layers of a batch: the character layer (twice, side by side) first, the recurrent ones above it."""

    layers: Tensor
    """(layers + 1, B, T, D), the sentence boundaries left out; zeros at padding."""
    mask: Tensor
    """(B, T), True at words."""


class Elmo(nn.Module):
    """The bidirectional language model with frozen weights.

    `is_stateful` carries the recurrent state from one batch to the next, row by row, as the reference does, whose
    outputs therefore depend on what it read before. The default starts every batch afresh: same text, same vectors.
    """

    def __init__(self, options: ElmoOptions, weights: ElmoWeights, *, is_stateful: bool = False) -> None:
        super().__init__()
        self.options = options
        self.is_stateful = is_stateful
        self.characters = CharacterEncoder(options, weights)
        self.directions = nn.ModuleList(
            nn.ModuleList(
                ProjectedLstm(options, weights, f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell")
                for layer in range(options.layers)
            )
            for direction in (0, 1)
        )
        self._states: dict[tuple[int, int], State] = {}
        self.requires_grad_(requires_grad=False)
        self.eval()

    @classmethod
    def load(cls, options: Path, weights: Path, *, is_stateful: bool = False) -> Self:
        """Read a published model from its two files."""
        with ElmoWeights(weights) as opened:
            return cls(read_options(options), opened, is_stateful=is_stateful)

    def forward(self, characters: Tensor) -> ElmoLayers:
        """Return all layers of sentences given as character ids (B, T + 2, characters)."""
        mask = (characters > 0).any(dim=2)
        words = self.characters(characters.flatten(0, 1)).view(*mask.shape, -1)  # (B, T + 2, projection)
        words = words.masked_fill(~mask.unsqueeze(2), 0.0)
        forwards = self._run(0, words, mask)
        backwards = [_reversed(layer, mask) for layer in self._run(1, _reversed(words, mask), mask)]
        both = [torch.cat(pair, dim=2) for pair in zip(forwards, backwards, strict=True)]
        layers = torch.stack([torch.cat([words, words], dim=2), *both])
        # A sentence of n words has n + 2 places: without the first, and without the last of those.
        inner = mask[:, 2:]
        return ElmoLayers(layers[:, :, 1:-1].masked_fill(~inner.unsqueeze(2), 0.0), inner)

    def embed(self, sentences: Sequence[Sequence[str]]) -> ElmoLayers:
        """Return all layers of sentences given as words."""
        device = self.characters.embedding.weight.device
        ids = torch.from_numpy(batch_characters(sentences, max_characters=self.options.max_characters))
        with torch.inference_mode():
            result: ElmoLayers = self(ids.to(device))
        return result

    def reset(self) -> None:
        """Forget the state that earlier batches left."""
        self._states.clear()

    def _run(self, direction: int, words: Tensor, mask: Tensor) -> list[Tensor]:
        """Return the outputs of each recurrent layer of one direction."""
        layers: list[Tensor] = []
        inputs = words
        for index, layer in enumerate(cast(nn.ModuleList, self.directions[direction])):
            outputs, state = layer(inputs, mask, self._state(direction, index, inputs))
            if self.is_stateful:
                self._states[direction, index] = state
            inputs = outputs + inputs if self.options.has_skips and index > 0 else outputs
            layers.append(inputs)
        return layers

    def _state(self, direction: int, layer: int, inputs: Tensor) -> State:
        rows = inputs.shape[0]
        fresh = inputs.new_zeros(rows, self.options.projection), inputs.new_zeros(rows, self.options.cell)
        known = self._states.get((direction, layer))
        if known is None:
            return fresh
        shared = min(rows, known[0].shape[0])  # a smaller last batch uses its rows' states, new rows start afresh
        return torch.cat([known[0][:shared], fresh[0][shared:]]), torch.cat([known[1][:shared], fresh[1][shared:]])


class ScalarMix(nn.Module):
    """γ · Σ softmax(w)ᵢ · layerᵢ: the trainable weighted sum of ELMo's layers; at the start their plain mean."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Return (B, T, D) from (layers, B, T, D)."""
        shares = torch.softmax(self.weights, dim=0)
        return self.scale * torch.einsum("l,lbtd->btd", shares, layers)


def _reversed(sequence: Tensor, mask: Tensor) -> Tensor:
    """Turn each row's real places around and leave its padding where it is; twice is the identity."""
    places = torch.arange(mask.shape[1], device=mask.device)
    lengths = mask.sum(dim=1, keepdim=True)
    order = torch.where(places < lengths, lengths - 1 - places, places)  # (B, T)
    return sequence.gather(1, order.unsqueeze(2).expand_as(sequence))
