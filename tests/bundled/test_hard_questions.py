"""The hand-written check set `hard_questions.jsonl`: its form, its balance, and that shared words mislead in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parent / "hard_questions.jsonl"
KINDS = {"HUM", "LOC", "NUM", "DESC", "ENTY", "ABBR"}
TRAPS = {"overlap", "wrong-type", "wrong-entity", "paraphrase", "negation", "pronoun"}
FUNCTION_WORDS = set(
    re.findall(r"\w+", "been does from have into than that they this were what whats when where which with")
)
QUESTIONS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=[str(question["id"]) for question in QUESTIONS])


def content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 3} - FUNCTION_WORDS


def shared_words(question: dict[str, Any], candidate: dict[str, Any]) -> int:
    return len(content_words(question["question"]) & content_words(candidate["text"]))


def expected_hits(rule: Callable[[dict[str, Any], dict[str, Any]], int]) -> float:
    """Return the share of questions whose best candidate by the rule is right; ties count as a draw of lots."""
    hits = 0.0
    for question in QUESTIONS:
        scores = [rule(question, candidate) for candidate in question["candidates"]]
        best = [c["label"] for c, score in zip(question["candidates"], scores, strict=True) if score == max(scores)]
        hits += sum(best) / len(best)
    return hits / len(QUESTIONS)


def test_ids_and_questions_are_unique() -> None:
    assert len(QUESTIONS) == 100
    assert len({question["id"] for question in QUESTIONS}) == 100
    assert len({question["question"].lower() for question in QUESTIONS}) == 100


@each_question
def test_question_has_its_fields(question: dict[str, Any]) -> None:
    assert list(question) == ["id", "question", "kind", "trap", "half", "candidates"]
    assert question["kind"] in KINDS
    assert question["trap"] in TRAPS
    assert all(list(candidate) == ["id", "text", "label"] for candidate in question["candidates"])


@each_question
def test_candidates_are_few_distinct_and_of_both_labels(question: dict[str, Any]) -> None:
    candidates = question["candidates"]
    assert 4 <= len(candidates) <= 7
    assert [candidate["id"] for candidate in candidates] == [str(place) for place in range(len(candidates))]
    assert len({candidate["text"].lower() for candidate in candidates}) == len(candidates)
    assert {candidate["label"] for candidate in candidates} == {0, 1}
    assert sum(candidate["label"] for candidate in candidates) <= 2
    assert all(5 <= len(candidate["text"].split()) <= 45 for candidate in candidates)


def test_halves_are_balanced_and_alike() -> None:
    assert Counter(question["half"] for question in QUESTIONS) == {"dev": 50, "check": 50}
    for name in ("kind", "trap"):
        dev = Counter(question[name] for question in QUESTIONS if question["half"] == "dev")
        check = Counter(question[name] for question in QUESTIONS if question["half"] == "check")
        assert all(abs(dev[value] - check[value]) <= 4 for value in dev | check)


def test_every_kind_and_trap_occurs() -> None:
    assert {question["kind"] for question in QUESTIONS} == KINDS
    assert {question["trap"] for question in QUESTIONS} == TRAPS


def test_a_wrong_candidate_shares_at_least_as_many_words() -> None:
    held = 0
    for question in QUESTIONS:
        best = {0: 0, 1: 0}
        for candidate in question["candidates"]:
            label = candidate["label"]
            best[label] = max(best[label], shared_words(question, candidate))
        held += best[0] >= best[1]
    assert held / len(QUESTIONS) >= 0.85


def test_most_shared_words_lead_astray() -> None:
    assert expected_hits(shared_words) < 0.1


def test_no_simple_rule_finds_the_right_candidates() -> None:
    # Else a ranker that merely avoids the question's words, or likes a length or a place, would look able.
    assert expected_hits(lambda question, candidate: -shared_words(question, candidate)) < 0.5
    assert expected_hits(lambda _, candidate: len(candidate["text"])) < 0.3
    assert expected_hits(lambda _, candidate: -len(candidate["text"])) < 0.3
    assert expected_hits(lambda _, candidate: -int(candidate["id"])) < 0.3
    assert expected_hits(lambda _, candidate: int(candidate["id"])) < 0.3
