"""Words of a text: pieces joined, markers and replacements led back to the user's own words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase

from anselect.modeling.pair_tokens import text_tokens
from anselect.modeling.word_units import vector_units, word_units
from anselect.records import Entity
from anselect.text.explain_texts import ReadText, plain_text
from anselect.text.highlight import Way, add_special_tokens, highlight

TEXT = "In 1876 Graham Bell did it."
ENTITY = Entity("Graham Bell", "PERSON", 8, 19)


@pytest.fixture
def tokenizer(bert_family: Any) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = bert_family.tokenizer
    return tokenizer


def highlighted(way: Way) -> ReadText:
    found = highlight(TEXT, [ENTITY], "HUM", way)
    return ReadText(found.text, found)


def test_pieces_are_joined_to_words(tokenizer: PreTrainedTokenizerBase) -> None:
    units = word_units(tokenizer, plain_text("Bells  (did)"))
    assert [(unit.text, unit.start, unit.end) for unit in units] == [
        ("Bells", 0, 5), ("(", 7, 8), ("did", 8, 11), (")", 11, 12)
    ]  # fmt: skip
    assert units[0].tokens == (0, 1)


def test_replaced_entity_is_one_word(tokenizer: PreTrainedTokenizerBase) -> None:
    add_special_tokens(tokenizer, Way.REPLACE)
    units = word_units(tokenizer, highlighted(Way.REPLACE))
    assert [unit.text for unit in units] == ["In", "1876", "Graham Bell", "did", "it", "."]
    assert all(TEXT[unit.start : unit.end] == unit.text for unit in units)


def test_markers_count_to_the_entity_s_outer_words(tokenizer: PreTrainedTokenizerBase) -> None:
    add_special_tokens(tokenizer, Way.MARK)
    read = highlighted(Way.MARK)
    units = {unit.text: unit for unit in word_units(tokenizer, read)}
    assert list(units) == ["In", "1876", "Graham", "Bell", "did", "it", "."]
    pieces = tokenizer.convert_ids_to_tokens(text_tokens(tokenizer, [read.text])[0])
    assert pieces[units["Graham"].tokens[0]] == "[ENTITY]"
    assert pieces[units["Bell"].tokens[-1]] == "[/ENTITY]"


def test_lower_casing_that_makes_a_text_longer_keeps_offsets(tokenizer: PreTrainedTokenizerBase) -> None:
    text = "İİ Bell"
    read = ReadText(text.lower(), plain_text(text).highlighted)
    assert len(read.text) == len(text) + 2
    assert [unit.text for unit in word_units(tokenizer, read)][-1] == "Bell"
    assert [unit.text for unit in vector_units(read)][-1] == "Bell"


def test_vector_units_are_the_words_that_glove_reads() -> None:
    units = vector_units(plain_text("Bell’s 1,876 did, did."))
    assert [unit.text for unit in units] == ["Bell", "’s", "1,876", "did", ",", "did", "."]
    assert [unit.tokens for unit in units] == [(place,) for place in range(7)]


@given(st.text(alphabet=st.sampled_from("ab Bell,.'[]SEP\n\té中İſ\u200b\u0301-1"), max_size=40))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_words_never_overlap_and_hold_every_token_once(families: Any, text: str) -> None:
    for name in ("bert", "roberta", "xlnet"):
        tokenizer = families[
            name
        ]().tokenizer  # one whose words hold no blank, one whose do, one with pieces for blanks
        read = ReadText(text.lower(), plain_text(text).highlighted)
        units = word_units(tokenizer, read)
        assert all(text[unit.start : unit.end] == unit.text and unit.text for unit in units)
        assert all(one.end <= two.start for one, two in pairwise(units))
        tokens = [token for unit in units for token in unit.tokens]
        assert not units or sorted(tokens) == list(range(len(text_tokens(tokenizer, [read.text])[0])))
