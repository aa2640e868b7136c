"""Features are extracted once, kept whole on disk, mapped, and told apart by source and text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anselect.errors import DataError
from anselect.modeling.encoders import load_encoder, load_tokenizer
from anselect.modeling.features import EncoderFeatures, FeatureStore, GloveFeatures
from anselect.modeling.glove import read_glove
from anselect.modeling.words import split_words


class CountingSource:
    """Gives each word its length; counts what it was asked."""

    def __init__(self, name: str = "lengths") -> None:
        self.name = name
        self.width = 2
        self.asked: list[str] = []

    def extract(self, texts: Sequence[str]) -> list[np.ndarray]:
        self.asked += texts
        return [np.array([[len(w), 0.1] for w in t.split()], dtype=np.float32).reshape(-1, 2) for t in texts]


class FailingSource(CountingSource):
    def extract(self, texts: Sequence[str]) -> list[np.ndarray]:
        raise OSError("out of order")


def test_features_are_kept_and_extracted_once(tmp_path: Path) -> None:
    source = CountingSource()
    store = FeatureStore(source, tmp_path)
    assert store.add(["bell did it", "who", "who"]) == 2
    assert store.add(["who"]) == 0
    assert len(store) == 2
    reopened = FeatureStore(source, tmp_path)
    assert reopened.get("bell did it")[:, 0].tolist() == [4.0, 3.0, 2.0]
    assert reopened.get("who")[:, 0].tolist() == [3.0]
    assert sorted(source.asked) == ["bell did it", "who"]
    assert "who" in reopened
    assert "what" not in reopened


def test_features_are_mapped_not_read(tmp_path: Path) -> None:
    store = FeatureStore(CountingSource(), tmp_path)
    assert isinstance(store.get("who"), np.memmap)


def test_more_texts_than_a_batch_stay_in_order(tmp_path: Path) -> None:
    texts = [" ".join(["x" * (i % 7 + 1)] * (i % 5)) + f" {i}" for i in range(100)]
    store = FeatureStore(CountingSource(), tmp_path)
    assert store.add(texts) == 100
    for text in texts:
        assert store.get(text)[:, 0].tolist() == [len(word) for word in text.split()]


def test_text_without_tokens_is_kept(tmp_path: Path) -> None:
    store = FeatureStore(CountingSource(), tmp_path)
    assert store.add([""]) == 1
    assert FeatureStore(CountingSource(), tmp_path).get("").shape == (0, 2)


def test_half_precision_halves_the_file(tmp_path: Path) -> None:
    sizes = []
    for dtype in ("float32", "float16"):
        store = FeatureStore(CountingSource(), tmp_path, dtype=dtype)
        store.add(["a b c d"] + [f"x{i}" for i in range(100)])
        sizes.append(sum(path.stat().st_size for path in store.folder.glob("*[0-9a-f].npy")) - 128)
        assert store.get("a b c d").dtype == dtype
    assert sizes[0] == 2 * sizes[1]


def test_sources_do_not_mix(tmp_path: Path) -> None:
    first, second = FeatureStore(CountingSource("a/b"), tmp_path), FeatureStore(CountingSource("a c"), tmp_path)
    first.add(["who"])
    assert len(FeatureStore(CountingSource("a c"), tmp_path)) == 0
    assert first.folder != second.folder
    assert first.folder.parent == tmp_path


def test_failed_extraction_leaves_nothing(tmp_path: Path) -> None:
    store = FeatureStore(FailingSource(), tmp_path)
    with pytest.raises(OSError, match="out of order"):
        store.add(["who"])
    assert list(store.folder.iterdir()) == []


def test_what_a_kill_leaves_is_never_seen(tmp_path: Path) -> None:
    store = FeatureStore(CountingSource(), tmp_path)
    store.add(["who"])
    (store.folder / ".1-ab.npy.1-cd.part").write_bytes(b"half a matrix")
    np.save(store.folder / "1-ef.npy", np.zeros((1, 2), dtype=np.float32))  # whole, but killed before its index
    reopened = FeatureStore(CountingSource(), tmp_path)
    assert len(reopened) == 1
    assert reopened.get("what")[:, 0].tolist() == [4.0]


@pytest.mark.parametrize("damage", ["cut", "width", "missing"])
def test_damaged_store_is_refused(tmp_path: Path, damage: str) -> None:
    store = FeatureStore(CountingSource(), tmp_path)
    store.add(["who is it"])
    (matrix,) = [path for path in store.folder.glob("*.npy") if ".index" not in path.name]
    if damage == "cut":
        matrix.write_bytes(matrix.read_bytes()[:130])
    elif damage == "width":
        np.save(matrix, np.zeros((3, 5), dtype=np.float32))
    else:
        matrix.unlink()
    with pytest.raises(DataError, match="delete this folder"):
        FeatureStore(CountingSource(), tmp_path)


def test_encoder_features_leave_special_tokens_out(family: Any, save_encoder: Any) -> None:
    folder = save_encoder(family)
    source = EncoderFeatures(load_encoder(folder), load_tokenizer(folder), family.name, max_tokens=40)
    texts = ["who invented it", "bell"]
    together = source.extract(texts)
    alone = [source.extract([text])[0] for text in texts]
    for text, batched, single in zip(texts, together, alone, strict=True):
        assert batched.shape == (len(family.tokenizer.tokenize(text)), 32)
        assert np.allclose(batched, single, atol=1e-5)


def test_encoder_features_are_the_last_hidden_states(bert_folder: str) -> None:
    encoder, tokenizer = load_encoder(bert_folder), load_tokenizer(bert_folder)
    (found,) = EncoderFeatures(encoder, tokenizer, "tiny", max_tokens=40).extract(["who invented it"])
    with torch.inference_mode():
        hidden = encoder(**tokenizer("who invented it", return_tensors="pt")).last_hidden_state
    assert np.allclose(found, hidden[0, 1:-1].numpy(), atol=1e-6)


def test_glove_features_are_the_words_vectors(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("bell 1 2\n. 3 4\n")
    source = GloveFeatures(read_glove(path, split_words("Bell.")), "tiny")
    assert source.extract(["Bell.", ""])[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert source.extract([""])[0].shape == (0, 2)
    other = GloveFeatures(read_glove(path, ["bell"]), "tiny")
    assert source.name != other.name


def test_elmo_features_average_the_layers(benchmark_data: Path) -> None:
    pytest.importorskip("h5py")
    from anselect.modeling.elmo import Elmo
    from anselect.modeling.features import ElmoFeatures

    folder = benchmark_data / "elmo"
    elmo = Elmo.load(folder / "options.json", folder / "lm_weights.hdf5")
    source = ElmoFeatures(elmo, "tiny")
    short, long = source.extract(["Bell.", "Who did it?"])
    assert (short.shape, long.shape) == ((2, 32), (4, 32))
    expected = elmo.embed([["Who", "did", "it", "?"]]).layers.mean(0)[0]
    assert np.allclose(long, expected.numpy(), atol=1e-6)
