"""An encoder's own word vectors in, words of near meaning out: `telephone` gives `phone`, `doctor` `physician`."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

NEAR: Final = 0.38
"""Cosine from which a word counts as near."""
MOST: Final = 12
STEM: Final = 4
"""Words that begin with the same letters are forms of one word: no other words."""


class NearWords:
    """Finds words that stand near a word, by the vectors that an encoder reads them with."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        centred = vectors - vectors.mean(axis=0)
        self._words = list(words)
        self._places = {word: place for place, word in enumerate(words)}
        self._vectors = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
        self._near = functools.cache(self._find)

    @classmethod
    def from_encoder(cls, name: str) -> NearWords:
        """Take the whole words of an encoder's vocabulary."""
        from anselect.modeling.encoders import load_encoder, load_tokenizer

        vocabulary = load_tokenizer(name).get_vocab()
        words = sorted(word for word in vocabulary if len(word) >= STEM and word.isascii() and word.isalpha())
        embeddings: Any = load_encoder(name).get_input_embeddings()
        weights = embeddings.weight.detach().numpy()
        return cls(words, weights[[vocabulary[word] for word in words]])

    def draw(self, word: str, chance: random.Random) -> str | None:
        """Draw a near word that is no form of this one, written with a capital where this one is."""
        near = self._near(word.lower())
        if not near:
            return None
        drawn = chance.choice(near)
        return drawn.capitalize() if word[:1].isupper() else drawn

    def _find(self, word: str) -> tuple[str, ...]:
        place = self._places.get(word)
        if place is None:
            return ()
        cosines = self._vectors @ self._vectors[place]
        best = np.argsort(-cosines, kind="stable")[:MOST]
        near = (self._words[other] for other in best if cosines[other] >= NEAR)
        return tuple(other for other in near if other[:STEM] != word[:STEM])
