"""Character ids as the published ELMo numbers them."""

from __future__ import annotations

from anselect.modeling.elmo_characters import batch_characters, sentence_characters, word_characters


def test_word_is_marked_shifted_and_padded() -> None:
    ids = word_characters("ab")
    assert ids[:5] == [259, ord("a") + 1, ord("b") + 1, 260, 261]
    assert len(ids) == 50
    assert set(ids[4:]) == {261}


def test_word_beyond_ascii_is_its_utf8_bytes() -> None:
    assert word_characters("é")[1:3] == [0xC3 + 1, 0xA9 + 1]


def test_long_word_is_cut_between_its_marks() -> None:
    ids = word_characters("x" * 100)
    assert (len(ids), ids[0], ids[-1]) == (50, 259, 260)
    assert ids.count(ord("x") + 1) == 48


def test_sentence_has_boundary_words() -> None:
    start, word, end = sentence_characters(["a"])
    assert start[:4] == [259, 257, 260, 261]
    assert end[:4] == [259, 258, 260, 261]
    assert word == word_characters("a")


def test_batch_is_padded_with_zeros() -> None:
    batch = batch_characters([["a", "b"], []])
    assert batch.shape == (2, 4, 50)
    assert not batch[1, 2:].any()
    assert batch[1, :2].all()
    assert batch_characters([]).shape == (0, 0, 50)
