from __future__ import annotations

import logging
import math
import sys
from collections.abc import Sequence

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.errors import MissingExtraError
from anselect.evaluation.lexical import score_groups, split_words

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=6)


def score_one(question: str, candidates: Sequence[str]) -> list[float]:
    """Score the candidates of one question, which are the whole collection."""
    return score_groups([split_words(question)], [[split_words(candidate) for candidate in candidates]])[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Who's  WHO?", ["who", "s", "who"], id="punctuation_and_case"),
        pytest.param("a_b 3rd 1,000", ["a", "b", "3rd", "1", "000"], id="underscore_and_digits"),
        pytest.param("Straße CAFÉ ﬁne", ["strasse", "café", "fine"], id="casefold_and_compatibility"),
        pytest.param("cafe\u0301", ["caf\u00e9"], id="accent_written_apart"),
        pytest.param("हिन्दी में", ["हिन्दी", "में"], id="vowel_signs_stay_in_the_word"),
        pytest.param("Кто? Ποιος;", ["кто", "ποιοσ"], id="cyrillic_and_greek"),
        pytest.param("東京 iPhone手机", ["東", "京", "iphone", "手", "机"], id="scripts_without_blanks"),
        pytest.param("รุ่ง", ["รุ่", "ง"], id="thai_marks_stay_on_their_letter"),
        pytest.param(" \u3000。!?", [], id="nothing_but_punctuation"),
        pytest.param("", [], id="empty"),
    ],
)
def test_split_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@given(st.text())
def test_split_words_leaves_out_white_space_and_case(text: str) -> None:
    words = split_words(text)
    assert all(words)
    assert not any(character.isspace() for word in words for character in word)


@given(st.text(st.characters(max_codepoint=127)))
def test_split_words_treats_ascii_as_any_other_text(text: str) -> None:
    # The é at the end sends the same text through the general pattern.
    assert split_words(text + " é") == [*split_words(text), "é"]


def test_bm25_equals_bm25_by_hand() -> None:
    scores = score_one("red fox", ["red fox", "red dog ran away", "nothing"])
    # N = 3 candidates of 2, 4 and 1 words; "red" in 2 of them, "fox" in 1. Lucene: ln(1 + (N - n + .5) / (n + .5)).
    mean_length = (2 + 4 + 1) / 3
    red, fox = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    first = (red + fox) / (1.5 * (0.25 + 0.75 * 2 / mean_length) + 1)
    second = red / (1.5 * (0.25 + 0.75 * 4 / mean_length) + 1)
    assert scores == pytest.approx([first, second, 0.0], abs=1e-12)
    assert all(type(score) is float for score in scores)


@pytest.mark.parametrize(
    ("question", "candidates", "expected"),
    [
        pytest.param("who", [], [], id="no_candidates"),
        pytest.param("who", ["", " "], [0.0, 0.0], id="empty_candidates"),
        pytest.param("", ["a", "b"], [0.0, 0.0], id="empty_question"),
        pytest.param("who", ["a", "b"], [0.0, 0.0], id="no_shared_word"),
        pytest.param("?!", ["?!"], [0.0], id="no_words_at_all"),
    ],
)
def test_bm25_scores_0_without_shared_words(question: str, candidates: list[str], expected: list[float]) -> None:
    assert score_one(question, candidates) == expected


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        pytest.param("Who is it?", "It is who it is", "Nobody knows", id="stop_words_only"),
        pytest.param("Где Москва?", "Москва на реке", "Париж во Франции", id="cyrillic"),
        pytest.param("東京はどこ", "東京は日本", "巴黎在法国", id="no_blanks"),
        pytest.param("blue velvet", "BLUE, velvet!", "blue", id="case_and_punctuation"),
    ],
)
def test_bm25_prefers_shared_words(question: str, right: str, wrong: str) -> None:
    scores = score_one(question, [wrong, right, ""])
    assert scores[1] > scores[0] >= scores[2] == 0.0


def test_bm25_gives_one_candidate_a_score() -> None:
    assert score_one("fox", ["a fox"])[0] > 0


def test_bm25_ties_equal_texts_and_is_unmoved_by_order() -> None:
    candidates = ["a fox ran", "the fox", "a fox ran", "no"]
    scores = score_one("a fox", candidates)
    assert scores[0] == scores[2]
    assert score_one("a fox", candidates[::-1]) == scores[::-1]


@given(st.lists(st.tuples(WORDS, st.lists(WORDS, max_size=4)), min_size=1, max_size=5))
def test_score_groups_equals_the_library_on_the_whole_collection(
    groups: Sequence[tuple[list[str], list[list[str]]]],
) -> None:
    scores = score_groups([words for words, _ in groups], [candidates for _, candidates in groups])
    collection = [candidate for _, candidates in groups for candidate in candidates]
    assert [len(group) for group in scores] == [len(candidates) for _, candidates in groups]
    if not any(collection):
        assert not any(score for group in scores for score in group)
        return
    index = bm25s.BM25(dtype="float64")
    index.index(collection, show_progress=False)
    start = 0
    for (words, candidates), found in zip(groups, scores, strict=True):
        # The library refuses an empty question; the empty word stands for one that occurs nowhere.
        known = [word for word in words if word in index.vocab_dict]
        expected = index.get_scores(known)[start : start + len(candidates)] if known else [0.0] * len(candidates)
        assert found == pytest.approx(list(expected), abs=1e-12)
        start += len(candidates)


def test_bm25_prints_and_logs_nothing(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        score_one("fox", ["a fox", "b"] * 500)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_bm25_without_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"anselect\[ask\]"):
        score_one("fox", ["a fox"])
