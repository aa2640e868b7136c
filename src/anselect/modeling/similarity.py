"""A question and a candidate in, the cosine of every word of one with every word of the other out.

Three sources of word vectors, as in CETE's Figures 2 and 3: frozen features, the siamese encoder on top of them, the
last layer of a fine-tuned cross-encoder that reads both texts at once. A word's vector is the mean over its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from anselect.modeling.encoders import load_tokenizer
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.siamese import SiameseModel, pad_features
from anselect.modeling.siamese_ranker import FeatureReader, SiameseRanker, open_features
from anselect.modeling.word_units import Splitter, WordUnit, vector_units, word_units
from anselect.text.explain_texts import ReadText

Vectors = npt.NDArray[np.floating]
"""(tokens, D)"""


@dataclass(frozen=True, slots=True)
class WordSimilarity:
    """Cosines between the words of a question and of a candidate; words behind a model's limit are left out."""

    question: tuple[str, ...]
    candidate: tuple[str, ...]
    cosines: npt.NDArray[np.float64]
    """(words of the question, words of the candidate)"""


@dataclass(frozen=True, slots=True)
class WordFeatures:
    """Frozen token features with the way to split texts into words of those tokens."""

    reader: FeatureReader
    split: Splitter
    max_tokens: int | None = None

    def read(self, *texts: ReadText) -> list[tuple[Vectors, list[WordUnit]]]:
        """Return the vectors of each text's tokens, and its words."""
        # GloVe's reader knows the words of texts that were announced, and no others.
        self.reader.prepare(text.text for text in texts)
        return [
            (np.asarray(self.reader.get(text.text)[: self.max_tokens], dtype=np.float32), self.split(text))
            for text in texts
        ]


def open_word_features(kind: str, name: str, *, max_tokens: int = 512) -> WordFeatures:
    """Open frozen features by kind and name, as `open_features` does: `glove`, `elmo` or `encoder`."""
    return WordFeatures(open_features(kind, name, max_tokens=max_tokens), _splitter(kind, name))


def word_features_of(ranker: SiameseRanker) -> WordFeatures:
    """Return the features that a siamese model reads."""
    config: Any = ranker.model.config
    return WordFeatures(ranker.features, _splitter(config.feature_kind, config.features), config.max_tokens)


def feature_similarity(features: WordFeatures, question: ReadText, candidate: ReadText) -> WordSimilarity:
    """Compare words by frozen features: each text is read on its own, nothing was trained."""
    return _compare(*features.read(question, candidate))


def siamese_similarity(
    model: SiameseModel, features: WordFeatures, question: ReadText, candidate: ReadText
) -> WordSimilarity:
    """Compare words by the output of a siamese model's encoder layer; without one, by the features."""
    sides = features.read(question, candidate)
    return _compare(*((_encoded(model, vectors), units) for vectors, units in sides))


@torch.inference_mode()
def cross_encoder_similarity(ranker: CrossEncoderRanker, question: ReadText, candidate: ReadText) -> WordSimilarity:
    """Compare words by the last layer of a cross-encoder, in which each has seen the other text."""
    model, tokenizer = ranker.model, ranker.tokenizer
    batch = encode_pairs(tokenizer, [question.text], [candidate.text], max_tokens=model.config.max_tokens)
    inputs = {name: tensor.to(model.device) for name, tensor in batch.inputs.items()}
    hidden = model.encode(inputs)["last_hidden_state"][0].float().cpu()
    asked, answered = (hidden[mask[0]].numpy() for mask in (batch.question_mask, batch.candidate_mask))
    return _compare((asked, word_units(tokenizer, question)), (answered, word_units(tokenizer, candidate)))


def _splitter(kind: str, name: str) -> Splitter:
    return partial(word_units, load_tokenizer(name)) if kind == "encoder" else vector_units


@torch.inference_mode()
def _encoded(model: SiameseModel, vectors: Vectors) -> Vectors:
    if not len(model.layers) or not len(vectors):
        return vectors
    batch = pad_features([vectors])
    caught: list[Tensor] = []
    # The model itself gives the mean over a text only; its last layer has the tokens.
    handle = model.layers[-1].register_forward_hook(lambda _module, _inputs, output: caught.append(output))
    try:
        model.eval().encode(batch.features.to(model.device), batch.mask.to(model.device))  # type: ignore[no-untyped-call]
    finally:
        handle.remove()
    tokens: Vectors = caught[0][0].float().cpu().numpy()
    return tokens


def _compare(
    question: tuple[Vectors, Sequence[WordUnit]], candidate: tuple[Vectors, Sequence[WordUnit]]
) -> WordSimilarity:
    (asked, asked_words), (answered, answered_words) = _words(*question), _words(*candidate)
    return WordSimilarity(asked_words, answered_words, asked @ answered.T)


def _words(vectors: Vectors, units: Sequence[WordUnit]) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Return one vector of length 1 for each word that was read (zeros stay zeros), and the words."""
    kept = [(unit.text, [token for token in unit.tokens if token < len(vectors)]) for unit in units]
    kept = [(text, tokens) for text, tokens in kept if tokens]
    means = np.zeros((len(kept), vectors.shape[1]))
    for row, (_, tokens) in enumerate(kept):
        means[row] = vectors[tokens].mean(axis=0)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(lengths == 0.0, 1.0, lengths), tuple(text for text, _ in kept)
