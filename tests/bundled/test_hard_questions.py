"""The hand-written check sets: their form, their balance, and that shared words mislead in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anselect
from anselect.data.overlap import Dropped, without_overlap
from anselect.data.reading import read_questions
from anselect.training.bundled.sources import WRITTEN
from anselect.training.bundled.written_lists import read_written

Questions = list[dict[str, Any]]

FOLDER = Path(anselect.__file__).parent / "training" / "bundled"
SIZES = {"hard_questions.jsonl": 100, "plain_hard_questions.jsonl": 80}
KINDS = {"HUM", "LOC", "NUM", "DESC", "ENTY", "ABBR"}
TRAPS = {"overlap", "wrong-type", "wrong-entity", "paraphrase", "negation", "pronoun"}
FUNCTION_WORDS = set(
    re.findall(r"\w+", "been does from have into than that they this were what whats when where which with")
)


def read(name: str) -> Questions:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


SETS = {name: read(name) for name in SIZES}
ALL_QUESTIONS = [question for questions in SETS.values() for question in questions]

each_set = pytest.mark.parametrize("questions", SETS.values(), ids=SETS)
each_question = pytest.mark.parametrize("question", ALL_QUESTIONS, ids=[str(each["id"]) for each in ALL_QUESTIONS])


def content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 3} - FUNCTION_WORDS


def shared_words(question: dict[str, Any], candidate: dict[str, Any]) -> int:
    return len(content_words(question["question"]) & content_words(candidate["text"]))


def expected_hits(questions: Questions, rule: Callable[[dict[str, Any], dict[str, Any]], int]) -> float:
    """Return the share of questions whose best candidate by the rule is right; ties count as a draw of lots."""
    hits = 0.0
    for question in questions:
        scores = [rule(question, candidate) for candidate in question["candidates"]]
        best = [c["label"] for c, score in zip(question["candidates"], scores, strict=True) if score == max(scores)]
        hits += sum(best) / len(best)
    return hits / len(questions)


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_set_has_its_size(name: str, size: int) -> None:
    assert len(SETS[name]) == size


def test_ids_and_questions_are_unique_over_all_sets() -> None:
    assert len({question["id"] for question in ALL_QUESTIONS}) == sum(SIZES.values())
    assert len({question["question"].lower() for question in ALL_QUESTIONS}) == sum(SIZES.values())


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


@each_set
def test_halves_are_balanced_and_alike(questions: Questions) -> None:
    half = len(questions) // 2
    assert Counter(question["half"] for question in questions) == {"dev": half, "check": half}
    for name in ("kind", "trap"):
        dev = Counter(question[name] for question in questions if question["half"] == "dev")
        check = Counter(question[name] for question in questions if question["half"] == "check")
        assert all(abs(dev[value] - check[value]) <= 4 for value in dev | check)


@each_set
def test_every_kind_and_trap_occurs(questions: Questions) -> None:
    assert {question["kind"] for question in questions} == KINDS
    assert {question["trap"] for question in questions} == TRAPS


@each_set
def test_a_wrong_candidate_shares_at_least_as_many_words(questions: Questions) -> None:
    held = 0
    for question in questions:
        best = {0: 0, 1: 0}
        for candidate in question["candidates"]:
            label = candidate["label"]
            best[label] = max(best[label], shared_words(question, candidate))
        held += best[0] >= best[1]
    assert held / len(questions) >= 0.85


@each_set
def test_most_shared_words_lead_astray(questions: Questions) -> None:
    assert expected_hits(questions, shared_words) < 0.1


@each_set
def test_no_simple_rule_finds_the_right_candidates(questions: Questions) -> None:
    # Else a ranker that merely avoids the question's words, or likes a length or a place, would look able.
    assert expected_hits(questions, lambda question, candidate: -shared_words(question, candidate)) < 0.5
    assert expected_hits(questions, lambda _, candidate: len(candidate["text"])) < 0.3
    assert expected_hits(questions, lambda _, candidate: -len(candidate["text"])) < 0.3
    assert expected_hits(questions, lambda _, candidate: -int(candidate["id"])) < 0.3
    assert expected_hits(questions, lambda _, candidate: int(candidate["id"])) < 0.3


@each_set
@pytest.mark.parametrize("place", range(4))
def test_no_place_in_the_order_of_lengths_is_mostly_right(questions: Questions, place: int) -> None:
    hits = 0
    for question in questions:
        ordered = sorted(question["candidates"], key=lambda candidate: -len(candidate["text"]))
        hits += ordered[place]["label"]
    assert hits / len(questions) < 0.5


WRITTEN_FILES = sorted(path.stem for path in (FOLDER / "written").glob("*.jsonl"))


@pytest.mark.parametrize("name", WRITTEN_FILES)
def test_lists_to_learn_from_are_well_formed_and_share_nothing_with_the_check_sets(name: str) -> None:
    lists = read_written(name)
    assert len(lists) >= 200
    held_out = [question for known in SIZES for question in read_questions(FOLDER / known)]
    kept, dropped = without_overlap(lists, held_out)
    assert (len(kept), dropped) == (len(lists), Dropped())
    for each in lists:
        labels = [candidate.label for candidate in each.candidates]
        assert 1 <= labels.count(1) <= 3
        assert 3 <= labels.count(0) <= 7
        assert len({candidate.text for candidate in each.candidates}) == len(labels)


def test_shared_words_mislead_in_the_first_lists_to_learn_from_but_do_not_decide_alone() -> None:
    lists = [question for name in WRITTEN for question in read(f"written/{name}.jsonl")]
    most = expected_hits(lists, shared_words)
    fewest = expected_hits(lists, lambda question, candidate: -shared_words(question, candidate))
    assert most < 0.1  # chance: 0.21
    assert fewest < 0.55
