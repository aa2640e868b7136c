"""Texts come in, frozen token features go out: GloVe, ELMo or a Hugging Face encoder, kept on disk between runs.

A `FeatureStore` is a folder for one source. Each writing adds two files: a .npy matrix of all tokens' vectors, which is
memory-mapped, and an index from a text's hash to its rows. Files appear whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from anselect.data.files import write_bytes
from anselect.errors import DataError
from anselect.modeling.elmo import Elmo
from anselect.modeling.encoders import accepted_inputs
from anselect.modeling.glove import GloveTable
from anselect.modeling.npy_rows import write_rows
from anselect.modeling.words import split_words

Features = npt.NDArray[np.floating]
"""(tokens, D)"""

TEXTS_PER_BATCH: Final = 32
INDEX_TYPE: Final = np.dtype([("text", "S64"), ("start", "<i8"), ("length", "<i8")])


class FeatureSource(Protocol):
    """Something that turns texts into token features and never changes."""

    @property
    def name(self) -> str:
        """Tells sources apart: features of one name are the same for the same text, always."""

    @property
    def width(self) -> int:
        """D, the length of a token's vector."""

    def extract(self, texts: Sequence[str]) -> list[Features]:
        """Return one (tokens, D) array a text; a text may have no token."""


class GloveFeatures:
    """One GloVe vector a word, out of context."""

    def __init__(self, table: GloveTable, name: str) -> None:
        self.table = table
        # What words a table knows depends on the texts that it was read for: the name tells such tables apart.
        digest = hashlib.sha256(table.vectors.tobytes() + table.unknown.tobytes()).hexdigest()[:12]
        self.name = f"glove-{name}-{digest}"
        self.width = table.width

    def extract(self, texts: Sequence[str]) -> list[Features]:
        """Return the vectors of each text's words."""
        return [self.table.embed(split_words(text)) for text in texts]


class ElmoFeatures:
    """ELMo's three layers, averaged: the scalar mix before any training, since features are frozen."""

    def __init__(self, elmo: Elmo, name: str) -> None:
        self.elmo = elmo
        self.name = f"elmo-{name}"
        self.width = elmo.options.width

    def extract(self, texts: Sequence[str]) -> list[Features]:
        """Return the vectors of each text's words, in the context of its text alone."""
        result = self.elmo.embed([split_words(text) for text in texts])
        means = result.layers.mean(dim=0).cpu().numpy()
        return [means[row, :length] for row, length in enumerate(result.mask.sum(dim=1).tolist())]


class EncoderFeatures:
    """Last hidden states of a frozen Hugging Face encoder, special tokens left out."""

    def __init__(
        self, encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, *, max_tokens: int = 512
    ) -> None:
        self.encoder = encoder.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.name = f"encoder-{name}-{max_tokens}"
        self.width = int(encoder.config.hidden_size)

    @torch.inference_mode()
    def extract(self, texts: Sequence[str]) -> list[Features]:
        """Return the vectors of each text's tokens."""
        batch = self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self.max_tokens,
            split_special_tokens=True,  # a literal "[SEP]" in a text is text
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        is_token = (batch.pop("special_tokens_mask") == 0) & (batch["attention_mask"] == 1)
        inputs = {name: tensor.to(self.encoder.device) for name, tensor in batch.items()}
        hidden = self.encoder(**accepted_inputs(self.encoder, inputs)).last_hidden_state.float().cpu()
        return [hidden[row][is_token[row]].numpy() for row in range(len(texts))]


class FeatureStore:
    """Features of one source on disk; `folder` is shared by sources, each has a subfolder of its own."""

    def __init__(self, source: FeatureSource, folder: Path, *, dtype: str = "float32") -> None:
        self.source = source
        self.dtype = dtype
        self.folder = folder / re.sub(r"[^A-Za-z0-9._-]+", "-", f"{source.name}-{dtype}")
        self._places: dict[bytes, tuple[int, int, int]] = {}
        self._matrices: list[Features] = []
        for index in sorted(self.folder.glob("*.index.npy")):
            self._open(index)

    def add(self, texts: Iterable[str]) -> int:
        """Extract and keep the features of texts that are not there yet; return how many that were."""
        missing = [text for text in dict.fromkeys(texts) if text_key(text) not in self._places]
        if not missing:
            return 0
        missing.sort(key=len)  # like lengths together: less padding
        name = f"{os.getpid()}-{secrets.token_hex(8)}"
        lengths: list[int] = []
        with write_bytes(self.folder / f"{name}.npy") as file:
            write_rows(file, self._extract(missing, lengths), width=self.source.width, dtype=self.dtype)
        starts = np.cumsum([0, *lengths[:-1]])
        entries = np.array(list(zip(map(text_key, missing), starts, lengths, strict=True)), dtype=INDEX_TYPE)
        # The index comes last: features without one are not seen, an index without features cannot be.
        with write_bytes(self.folder / f"{name}.index.npy") as file:
            np.save(file, entries)
        self._open(self.folder / f"{name}.index.npy")
        return len(missing)

    def get(self, text: str) -> Features:
        """Return a text's features (tokens, D), mapped from disk; extracts and keeps them if they are not there yet."""
        key = text_key(text)
        if key not in self._places:
            self.add([text])
        matrix, start, length = self._places[key]
        return self._matrices[matrix][start : start + length]

    def __contains__(self, text: str) -> bool:
        return text_key(text) in self._places

    def __len__(self) -> int:
        return len(self._places)

    def _extract(self, texts: Sequence[str], lengths: list[int]) -> Iterator[Features]:
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            for features in self.source.extract(texts[start : start + TEXTS_PER_BATCH]):
                lengths.append(len(features))
                yield features

    def _open(self, index: Path) -> None:
        path = index.with_name(index.name.replace(".index.npy", ".npy"))
        try:
            entries = np.load(index, allow_pickle=False)
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataError(
                f"expected features, got a damaged file ({error}): delete this folder", path=path
            ) from error
        if entries.dtype != INDEX_TYPE or matrix.ndim != 2 or matrix.shape[1] != self.source.width:
            raise DataError(f"expected features of width {self.source.width}: delete this folder", path=path)
        self._matrices.append(matrix)
        for key, start, length in entries:
            self._places[bytes(key)] = (len(self._matrices) - 1, int(start), int(length))


def text_key(text: str) -> bytes:
    """Return what a text is filed under: the hex sha256 of its UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest().encode("ascii")
