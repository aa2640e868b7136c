"""Word similarities: known cosines, one vector a word, the same layer as the model's own score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch

from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.siamese import SiameseConfig, SiameseModel, pad_features
from anselect.modeling.siamese_ranker import SiameseRanker
from anselect.modeling.similarity import (
    WordFeatures,
    cross_encoder_similarity,
    feature_similarity,
    open_word_features,
    siamese_similarity,
    word_features_of,
)
from anselect.modeling.word_units import vector_units
from anselect.text.explain_texts import plain_text
from tests.training.tiny import save_tiny_bert

VECTORS = {"bell": [1.0, 0.0], "made": [0.0, 2.0], "it": [1.0, 1.0], "who": [0.0, 0.0]}
QUESTION, CANDIDATE = plain_text("who made"), plain_text("Bell made it")


class TableReader:
    """Vectors of four words."""

    width = 2

    def prepare(self, texts: Iterable[str]) -> None:
        """Nothing to make ready."""

    def get(self, text: str) -> np.ndarray:
        return np.array([VECTORS[word.lower()] for word in text.split()]).reshape(-1, 2)


def test_glove_knows_the_words_of_both_texts(tmp_path: Path) -> None:
    lines = (f"{word} {x} {y}\n" for word, (x, y) in VECTORS.items() if word != "who")
    (tmp_path / "vectors.txt").write_text("".join(lines))
    features = open_word_features("glove", str(tmp_path / "vectors.txt"))
    found = feature_similarity(features, plain_text("made"), plain_text("bell made it"))
    np.testing.assert_allclose(found.cosines, [[0.0, 1.0, 0.5**0.5]], atol=1e-6)


TABLE = WordFeatures(TableReader(), vector_units)


def test_feature_similarity_is_the_cosine_of_words() -> None:
    found = feature_similarity(TABLE, QUESTION, CANDIDATE)
    assert (found.question, found.candidate) == (("who", "made"), ("Bell", "made", "it"))
    half = 0.5**0.5
    np.testing.assert_allclose(found.cosines, [[0.0, 0.0, 0.0], [0.0, 1.0, half]], atol=1e-12)


def test_words_behind_the_limit_are_left_out() -> None:
    found = feature_similarity(WordFeatures(TableReader(), vector_units, max_tokens=2), QUESTION, CANDIDATE)
    assert (found.candidate, found.cosines.shape) == (("Bell", "made"), (2, 2))


def test_empty_candidate_gives_an_empty_table() -> None:
    assert feature_similarity(TABLE, QUESTION, plain_text("")).cosines.shape == (2, 0)


def test_siamese_similarity_reads_the_encoder_s_output() -> None:
    torch.manual_seed(0)
    model = SiameseModel(SiameseConfig(width=2, attention_heads=1))
    found = siamese_similarity(model, TABLE, QUESTION, CANDIDATE)
    assert found.cosines.shape == (2, 3)
    assert not np.allclose(found.cosines, feature_similarity(TABLE, QUESTION, CANDIDATE).cosines)
    # One word a side: the mean over the text is that word, and the model's cosine is the only entry.
    one = siamese_similarity(model, TABLE, plain_text("bell"), plain_text("it"))
    sides = [pad_features([TableReader().get(word)]) for word in ("bell", "it")]
    assert one.cosines.item() == pytest.approx(2 * model.score(*sides).item() - 1, abs=1e-5)


def test_siamese_similarity_without_a_layer_is_that_of_the_features() -> None:
    model = SiameseModel(SiameseConfig(width=2, encoder_layers=0))
    found = siamese_similarity(model, TABLE, QUESTION, CANDIDATE)
    np.testing.assert_allclose(found.cosines, feature_similarity(TABLE, QUESTION, CANDIDATE).cosines, atol=1e-6)


def test_cross_encoder_similarity_depends_on_the_pair(tmp_path: Path) -> None:
    ranker = CrossEncoderRanker(*AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path), max_tokens=32))
    ranker.model.eval()  # type: ignore[no-untyped-call]
    found = cross_encoder_similarity(ranker, plain_text("who made"), plain_text("Bell made"))
    assert (found.question, found.candidate) == (("who", "made"), ("Bell", "made"))
    assert np.abs(found.cosines).max() <= 1 + 1e-9
    other = cross_encoder_similarity(ranker, plain_text("what made"), plain_text("Bell made"))
    assert not np.allclose(found.cosines[1], other.cosines[1])  # the same two words, in another context


def test_encoder_features_join_pieces_to_words(
    bert_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    features = open_word_features("encoder", bert_folder)
    found = feature_similarity(features, plain_text("who did"), plain_text("Bells did"))
    assert (found.candidate, found.cosines.shape) == (("Bells", "did"), (2, 2))
    model = SiameseModel(SiameseConfig(width=32, features=bert_folder))
    model.config.feature_kind = "encoder"
    same = word_features_of(SiameseRanker(model, features.reader))
    assert feature_similarity(same, plain_text("who did"), plain_text("Bells did")).candidate == ("Bells", "did")
