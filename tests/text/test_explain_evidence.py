"""Why one candidate beats another: the words of both, side by side."""

from __future__ import annotations

import pytest

from anselect.text.explain_evidence import CandidateEvidence, Method, WordEvidence, compare_evidence


def evidence(text: str, values: list[float], *, masked: float = 0.0) -> CandidateEvidence:
    words, done = [], 0
    for word, value in zip(text.split(), values, strict=True):
        start = text.index(word, done)
        done = start + len(word)
        words.append(WordEvidence(word, start, done, value))
    method = Method.INTEGRATED_GRADIENTS
    return CandidateEvidence(text, method, masked + sum(values), masked, tuple(words), 0.0, 16)


def test_comparison_adds_up_words_of_the_same_spelling() -> None:
    both = [evidence("The Bell the", [0.1, 2.0, 0.2], masked=-1.0), evidence("the lamp", [0.5, -1.0], masked=-1.5)]
    found = compare_evidence(both, 0, 1)
    assert [(word.text, word.first, word.second) for word in found.words] == [
        ("Bell", 2.0, 0.0), ("lamp", 0.0, -1.0), ("The", pytest.approx(0.3), 0.5)
    ]  # fmt: skip
    assert [word.difference for word in found.words] == [2.0, 1.0, pytest.approx(-0.2)]
    assert found.masked_difference == 0.5
    assert found.logit_difference == pytest.approx(1.3 + 2.0)
    assert found.unexplained == pytest.approx(0.0)


def test_comparison_turned_round_changes_every_sign() -> None:
    both = [evidence("a b", [1.0, -2.0]), evidence("b c", [0.5, 0.25])]
    there, back = compare_evidence(both, 0, 1), compare_evidence(both, 1, 0)
    assert {word.text: word.difference for word in there.words} == {word.text: -word.difference for word in back.words}


def test_strongest_words_go_by_size_not_by_sign() -> None:
    found = evidence("a b c d", [0.5, -2.0, 0.0, 1.0])
    assert [word.text for word in found.strongest(2)] == ["b", "d"]
    assert [word.text for word in found.strongest(9)] == ["b", "d", "a"]
