from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from anselect.engine.batching import fit_pair, make_batches
from anselect.engine.folder import TOKENIZER, read_manifest
from anselect.engine.tokens import MAX_CHARACTERS, MAX_QUESTION, TextTokenizer
from anselect.modeling.pair_tokens import encode_pairs, text_tokens
from tests.training.tiny import WORDS

TEXTS = st.lists(st.sampled_from([*WORDS, "[SEP]", "[CLS]", "unknown", "…", "  ", "é"]), max_size=25).map(" ".join)


@pytest.fixture(scope="module")
def tokenizer(made: Path) -> TextTokenizer:
    return TextTokenizer(made / "int8" / TOKENIZER, read_manifest(made / "int8"))


@pytest.fixture(scope="module")
def original(made: Path) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(made / "model")
    return tokenizer


@given(question=TEXTS, candidate=TEXTS)
def test_ids_are_those_of_the_training_code(
    tokenizer: TextTokenizer, original: PreTrainedTokenizerBase, question: str, candidate: str
) -> None:
    ours = tokenizer
    expected = encode_pairs(original, [question], [candidate], max_tokens=64)
    encoded = ours.encode_ends([question])[0], ours.encode([candidate], wanted=61)[0]
    rows, is_cut = fit_pair(0, *encoded, 61, windows=False)
    (batch,) = make_batches(rows, ours.template, threads=1)
    assert batch.inputs["ids"].tolist() == expected.inputs["input_ids"].tolist()
    assert batch.inputs["segments"].tolist() == expected.inputs["token_type_ids"].tolist()
    assert batch.inputs["question_mask"].tolist() == expected.question_mask.tolist()
    assert batch.inputs["candidate_mask"].tolist() == expected.candidate_mask.tolist()
    assert is_cut == bool(expected.cut_candidates)


@given(words=st.lists(st.sampled_from([*WORDS, "   ", "unknown", "x" * 90, "…"]), min_size=30, max_size=120))
def test_start_of_a_long_text_gives_the_tokens_of_the_whole(
    tokenizer: TextTokenizer, original: PreTrainedTokenizerBase, words: list[str]
) -> None:
    text = " ".join(words)
    (encoded,) = tokenizer.encode([text], wanted=8)
    whole = text_tokens(original, [text])[0]
    assert encoded.ids[:8].tolist() == whole[:8]
    assert encoded.is_whole == (len(encoded.ids) == len(whole))


def test_very_long_texts_are_read_in_part_only(tokenizer: TextTokenizer) -> None:
    texts = ["bell " * 2_000_000, "x" * 10_000_000, " " * (MAX_CHARACTERS - 4) + "bell bell", " " * 300_000 + "bell"]
    first, word, spaced, beyond = tokenizer.encode(texts, wanted=8)
    bell = first.ids[0]
    assert (set(first.ids.tolist()), first.is_whole, len(first.ids) < 100) == ({bell}, False, True)
    assert (len(word.ids), word.is_whole) == (1, False)
    assert (spaced.ids.tolist(), spaced.is_whole) == ([bell], False)
    assert (beyond.ids.tolist(), beyond.is_whole) == ([], False)


def test_long_question_keeps_both_ends(tokenizer: TextTokenizer) -> None:
    text = "who " + "lamp " * MAX_QUESTION + "rome"
    (encoded,) = tokenizer.encode_ends([text])
    who, rome = tokenizer.encode(["who", "rome"], wanted=1)
    assert (encoded.ids[0], encoded.ids[-1], encoded.is_whole) == (who.ids[0], rome.ids[0], False)


def test_half_a_surrogate_pair_is_read_as_unknown(tokenizer: TextTokenizer) -> None:
    (encoded,) = tokenizer.encode(["bell \ud83d"], wanted=8)
    assert len(encoded.ids) == 2


def test_many_texts_keep_their_order(tokenizer: TextTokenizer) -> None:
    words = [WORDS[place % len(WORDS)] for place in range(3000)]
    found = [encoded.ids.tolist() for encoded in tokenizer.encode([f"{word} " * 20 for word in words], wanted=40)]
    singles = {word: tokenizer.encode([word], wanted=1)[0].ids.tolist() for word in WORDS}
    assert found == [singles[word] * 20 for word in words]
    assert np.array(found).shape == (3000, 20)
