"""ELMo equals the reference outputs, and its synthetic twin pads, forgets and remembers as it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anselect.errors import DataError, MissingFileError
from anselect.modeling.elmo import Elmo, ScalarMix
from anselect.modeling.elmo_characters import sentence_characters, word_characters
from anselect.modeling.elmo_files import read_options

h5py = pytest.importorskip("h5py")

OPTIONS: dict[str, dict[str, Any]] = {
    "lstm": {
        "cell_clip": 3, "use_skip_connections": True, "n_layers": 2, "proj_clip": 3, "projection_dim": 4, "dim": 6,
    },
    "char_cnn": {
        "embedding": {"dim": 3}, "filters": [[1, 2], [2, 5]], "n_highway": 1, "n_characters": 262,
        "max_characters_per_token": 12, "activation": "relu",
    },
}  # fmt: skip
SENTENCES = [["Bell", "did", "it", "."], ["Who", "?"]]


def write_model(folder: Path, *, scale: float = 0.5, leave_out: str = "") -> tuple[Path, Path]:
    """Write a small model in the published format, with seeded weights."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, 3)}
    for index, (window, number) in enumerate([(1, 2), (2, 5)]):
        shapes |= {f"CNN/W_cnn_{index}": (1, window, 3, number), f"CNN/b_cnn_{index}": (number,)}
    shapes |= {f"CNN_high_0/{part}": (7, 7) for part in ("W_carry", "W_transform")}
    shapes |= {f"CNN_high_0/{part}": (7,) for part in ("b_carry", "b_transform")}
    shapes |= {"CNN_proj/W_proj": (7, 4), "CNN_proj/b_proj": (4,)}
    for direction in (0, 1):
        for layer in (0, 1):
            place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{place}/W_0": (8, 24), f"{place}/B": (24,), f"{place}/W_P_0": (6, 4)}
    options, weights = folder / "options.json", folder / "weights.hdf5"
    options.write_text(json.dumps(OPTIONS))
    with h5py.File(weights, "w") as file:
        for name, shape in shapes.items():
            if name != leave_out:
                file[name] = rng.normal(scale=scale, size=shape).astype(np.float32)
    return options, weights


@pytest.fixture
def elmo(tmp_path: Path) -> Elmo:
    return Elmo.load(*write_model(tmp_path))


def test_top_layer_equals_the_reference(benchmark_data: Path) -> None:
    folder = benchmark_data / "elmo"
    model = Elmo.load(folder / "options.json", folder / "lm_weights.hdf5", is_stateful=True)
    lists = json.loads((folder / "sentences.json").read_text())
    references = [h5py.File(folder / f"lm_embeddings_{k}.hdf5") for k in range(3)]
    compared = 0
    for index, batch in enumerate(zip(*lists, strict=True)):
        words = [sentence.split() for sentence in batch]
        result = model.embed(words)
        for row, reference in enumerate(references):
            expected = np.concatenate(list(reference[str(index)][...]), axis=1)
            assert int(result.mask[row].sum()) == len(words[row]) == len(expected)
            np.testing.assert_allclose(result.layers[2, row, : len(expected)], expected, atol=1e-5, rtol=0)
            compared += 1
    for reference in references:
        reference.close()
    assert compared == 30


def test_character_layer_equals_the_reference(benchmark_data: Path) -> None:
    folder = benchmark_data / "elmo"
    model = Elmo.load(folder / "options.json", folder / "lm_weights.hdf5")
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][...]
    boundaries = dict(zip(("<S>", "</S>"), sentence_characters([]), strict=True))
    vectors = model.characters(torch.tensor([boundaries.get(word) or word_characters(word) for word in words]))
    np.testing.assert_allclose(vectors.numpy(), expected, atol=1e-5, rtol=0)


def test_reference_needs_the_state_of_earlier_batches(benchmark_data: Path) -> None:
    folder = benchmark_data / "elmo"
    model = Elmo.load(folder / "options.json", folder / "lm_weights.hdf5")
    sentence = json.loads((folder / "sentences.json").read_text())[0][5].split()
    with h5py.File(folder / "lm_embeddings_0.hdf5") as file:
        expected = np.concatenate(list(file["5"][...]), axis=1)
    fresh = model.embed([sentence]).layers[2, 0].numpy()
    assert np.abs(fresh - expected).max() > 1e-3


def test_layers_have_both_directions_and_no_boundaries(elmo: Elmo) -> None:
    result = elmo.embed(SENTENCES)
    assert result.layers.shape == (3, 2, 4, 8)
    assert result.mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert torch.equal(result.layers[0, ..., :4], result.layers[0, ..., 4:])
    assert not result.layers[:, 1, 2:].any()
    assert result.layers.abs().max() > 0


def test_padding_does_not_change_a_sentence(elmo: Elmo) -> None:
    together = elmo.embed(SENTENCES).layers
    for row, words in enumerate(SENTENCES):
        assert torch.allclose(together[:, row, : len(words)], elmo.embed([words]).layers[:, 0], atol=1e-6)


def test_same_text_gives_the_same_vectors_unless_stateful(tmp_path: Path) -> None:
    files = write_model(tmp_path)
    stateless, stateful = Elmo.load(*files), Elmo.load(*files, is_stateful=True)
    first = stateful.embed(SENTENCES).layers
    assert torch.equal(stateless.embed(SENTENCES).layers, first)
    assert torch.equal(stateless.embed(SENTENCES).layers, first)
    assert not torch.allclose(stateful.embed(SENTENCES).layers[1:], first[1:])
    stateful.reset()
    assert torch.equal(stateful.embed(SENTENCES).layers, first)


def test_stateful_model_takes_batches_of_any_size(tmp_path: Path) -> None:
    model = Elmo.load(*write_model(tmp_path), is_stateful=True)
    fresh = model.embed(SENTENCES[1:]).layers
    model.reset()
    model.embed(SENTENCES[:1])
    grown = model.embed(SENTENCES).layers  # the second row is new
    assert torch.allclose(grown[:, 1, :2], fresh[:, 0], atol=1e-6)
    assert model.embed(SENTENCES[:1]).layers.shape[1] == 1


def test_directions_look_to_their_own_side(elmo: Elmo) -> None:
    before = elmo.embed([["Bell", "did", "it"]]).layers[2, 0]
    after = elmo.embed([["Bell", "did", "rings"]]).layers[2, 0]
    assert torch.allclose(before[:2, :4], after[:2, :4])
    assert not torch.allclose(before[:2, 4:], after[:2, 4:])


def test_large_weights_are_clipped(tmp_path: Path) -> None:
    model = Elmo.load(*write_model(tmp_path, scale=50.0))
    layers = model.embed(SENTENCES).layers
    assert layers[1].abs().max() <= 3.0
    assert layers[2].abs().max() <= 6.0  # its own 3 and the 3 of the layer below


def test_weights_are_frozen(elmo: Elmo) -> None:
    assert not [parameter for parameter in elmo.parameters() if parameter.requires_grad]


def test_empty_sentence_has_no_vectors(elmo: Elmo) -> None:
    result = elmo.embed([[], ["Bell"]])
    assert result.mask.tolist() == [[False], [True]]


def test_scalar_mix_starts_as_the_mean_and_learns() -> None:
    layers = torch.randn(3, 1, 2, 4, generator=torch.Generator().manual_seed(0))
    mix = ScalarMix(3)
    assert torch.allclose(mix(layers), layers.mean(0))
    with torch.no_grad():
        mix.weights[1] = 100.0
        mix.scale.fill_(2.0)
    assert torch.allclose(mix(layers), 2 * layers[1])


def test_broken_files_are_refused(tmp_path: Path) -> None:
    options, weights = write_model(tmp_path, leave_out="CNN_proj/W_proj")
    with pytest.raises(DataError, match="expected the array CNN_proj/W_proj"):
        Elmo.load(options, weights)
    weights.write_bytes(b"no hdf5")
    with pytest.raises(DataError, match="expected an HDF5 file"):
        Elmo.load(options, weights)
    with pytest.raises(MissingFileError):
        Elmo.load(options, tmp_path / "nothing.hdf5")
    options.write_text('{"lstm": {}}')
    with pytest.raises(DataError, match="'char_cnn'"):
        read_options(options)


def test_options_that_do_not_fit_the_weights_are_refused(tmp_path: Path) -> None:
    options, weights = write_model(tmp_path)
    changed = {**OPTIONS, "lstm": {**OPTIONS["lstm"], "dim": 7}}
    options.write_text(json.dumps(changed))
    with pytest.raises(DataError, match="do options and weights belong together"):
        Elmo.load(options, weights)
