"""Texts in, how many tokens their features have out, without the features: extracting them may take minutes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from anselect.config import ModelConfig
from anselect.modeling.encoders import load_tokenizer
from anselect.modeling.features import Features
from anselect.modeling.pair_tokens import text_tokens
from anselect.modeling.words import split_words
from anselect.records import Question
from anselect.training.rows import FeatureRows


class LengthReader:
    """Stands in for a reader of features: as many tokens as they have, and no values."""

    def __init__(self, config: ModelConfig) -> None:
        self.width = 0
        self._tokenizer = load_tokenizer(config.encoder) if config.features == "encoder" else None
        self._counts: dict[str, int] = {}

    @property
    def tokens(self) -> int:
        """How many tokens all texts that were announced have together."""
        return sum(self._counts.values())

    def prepare(self, texts: Iterable[str]) -> None:
        """Count the tokens of these texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._counts]
        pieces: Sequence[Sequence[object]]
        pieces = (
            text_tokens(self._tokenizer, new) if self._tokenizer is not None else [split_words(text) for text in new]
        )
        self._counts |= {text: len(found) for text, found in zip(new, pieces, strict=True)}

    def get(self, text: str) -> Features:
        """Return as many vectors of no numbers as an announced text has tokens."""
        return np.zeros((self._counts[text], 0), dtype=np.float32)


class SideRows(FeatureRows):
    """Pairs for the siamese model, of which only the lengths of both sides are known."""

    def __init__(self, questions: Sequence[Question], reader: LengthReader, config: ModelConfig) -> None:
        super().__init__(questions, reader, config.max_tokens)
        lengths = [min(len(reader.get(text)), config.max_tokens) for text in self.questions]
        self.question_lengths = np.array(lengths, dtype=np.int64)
