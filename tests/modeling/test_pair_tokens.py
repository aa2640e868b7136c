"""Pairs of texts become what each family's own tokenizer makes of them, cut on the candidate's side."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anselect.errors import UsageError
from anselect.modeling.pair_tokens import MIN_CANDIDATE_TOKENS, encode_pairs, pair_template, text_tokens

QUESTIONS = ["who invented the telephone", "what is it"]
CANDIDATES = ["bell did", "it rings in paris in france"]


def test_encode_pairs_gives_what_the_library_gives(family: Any) -> None:
    ours = encode_pairs(family.tokenizer, QUESTIONS, CANDIDATES, max_tokens=60)
    theirs = family.tokenizer(QUESTIONS, CANDIDATES, padding=True, return_tensors="pt", return_token_type_ids=True)
    assert torch.equal(ours.inputs["input_ids"], theirs["input_ids"])
    assert torch.equal(ours.inputs["attention_mask"], theirs["attention_mask"])
    if "token_type_ids" in ours.inputs:
        assert torch.equal(ours.inputs["token_type_ids"], theirs["token_type_ids"])
    assert (ours.cut_candidates, ours.cut_questions, len(ours)) == (0, 0, 2)


@pytest.mark.parametrize(
    ("name", "has_segments"),
    [("bert", True), ("electra", True), ("deberta-v2", True), ("xlnet", True), ("roberta", False), ("mpnet", False)],
)
def test_segment_ids_follow_the_family(request: pytest.FixtureRequest, name: str, has_segments: bool) -> None:
    family = request.getfixturevalue("families")[name]()
    batch = encode_pairs(family.tokenizer, QUESTIONS, CANDIDATES, max_tokens=60)
    assert ("token_type_ids" in batch.inputs) == has_segments


def test_masks_cover_exactly_the_texts_own_tokens(family: Any) -> None:
    batch = encode_pairs(family.tokenizer, QUESTIONS, CANDIDATES, max_tokens=60)
    ids = batch.inputs["input_ids"]
    for row in range(2):
        assert ids[row][batch.question_mask[row]].tolist() == text_tokens(family.tokenizer, QUESTIONS)[row]
        assert ids[row][batch.candidate_mask[row]].tolist() == text_tokens(family.tokenizer, CANDIDATES)[row]
    assert not (batch.question_mask & batch.candidate_mask).any()
    assert not batch.question_mask[batch.inputs["attention_mask"] == 0].any()


def test_roberta_joins_with_two_separators(families: Any) -> None:
    tokenizer = families["roberta"]().tokenizer
    template = pair_template(tokenizer)
    assert template.between.ids == [tokenizer.sep_token_id] * 2
    assert template.class_position == "first"


def test_xlnet_pads_left_and_ends_with_its_class_token(xlnet_family: Any) -> None:
    tokenizer = xlnet_family.tokenizer
    batch = encode_pairs(tokenizer, QUESTIONS, CANDIDATES, max_tokens=60)
    assert batch.inputs["attention_mask"][0, 0] == 0
    assert batch.inputs["input_ids"][:, -1].tolist() == [tokenizer.cls_token_id] * 2
    assert batch.inputs["token_type_ids"][:, -1].tolist() == [2, 2]
    assert pair_template(tokenizer).class_position == "last"


def test_only_the_candidate_is_cut(family: Any) -> None:
    question, long = "who invented it", "bell " * 100
    batch = encode_pairs(family.tokenizer, [question, question], [long, "bell"], max_tokens=40)
    ids = batch.inputs["input_ids"][0]
    assert len(ids) == 40
    assert ids[batch.question_mask[0]].tolist() == text_tokens(family.tokenizer, [question])[0]
    kept = ids[batch.candidate_mask[0]].tolist()
    assert kept == text_tokens(family.tokenizer, [long])[0][: len(kept)]
    assert (batch.cut_candidates, batch.cut_questions) == (1, 0)


def test_question_longer_than_the_limit_leaves_room_for_its_candidate(bert_family: Any) -> None:
    batch = encode_pairs(bert_family.tokenizer, ["who " * 200], ["bell " * 50], max_tokens=64)
    assert int(batch.candidate_mask.sum()) == MIN_CANDIDATE_TOKENS
    assert int(batch.question_mask.sum()) == 64 - 3 - MIN_CANDIDATE_TOKENS
    assert (batch.cut_candidates, batch.cut_questions) == (1, 1)


def test_question_gives_up_no_more_than_its_candidate_needs(bert_family: Any) -> None:
    batch = encode_pairs(bert_family.tokenizer, ["who " * 200], ["bell did"], max_tokens=64)
    assert int(batch.candidate_mask.sum()) == 2
    assert (batch.cut_candidates, batch.cut_questions) == (0, 1)


def test_name_of_a_special_token_in_a_text_is_text(family: Any) -> None:
    tokenizer = family.tokenizer
    batch = encode_pairs(tokenizer, ["who"], [f"bell {tokenizer.sep_token} did"], max_tokens=60)
    candidate = batch.inputs["input_ids"][0][batch.candidate_mask[0]]
    assert tokenizer.sep_token_id not in candidate.tolist()


def test_empty_texts_have_empty_masks(family: Any) -> None:
    batch = encode_pairs(family.tokenizer, [""], [""], max_tokens=60)
    assert not batch.question_mask.any()
    assert not batch.candidate_mask.any()
    assert batch.inputs["input_ids"].shape[1] == pair_template(family.tokenizer).specials


@given(question=st.integers(0, 80), candidate=st.integers(0, 80), limit=st.integers(5, 64))
def test_pairs_fit_and_nothing_is_cut_without_need(families: Any, question: int, candidate: int, limit: int) -> None:
    tokenizer = families["bert"]().tokenizer
    batch = encode_pairs(tokenizer, ["who " * question], ["bell " * candidate], max_tokens=limit)
    kept = int(batch.question_mask.sum()), int(batch.candidate_mask.sum())
    assert sum(kept) + 3 <= limit
    assert (batch.cut_questions, batch.cut_candidates) == (kept[0] < question, kept[1] < candidate)
    if kept != (question, candidate):
        assert sum(kept) + 3 == limit


def test_unequal_numbers_of_texts_are_refused(bert_family: Any) -> None:
    with pytest.raises(UsageError, match="got 2 and 1"):
        encode_pairs(bert_family.tokenizer, QUESTIONS, ["bell"], max_tokens=60)


def test_limit_without_room_is_refused(bert_family: Any) -> None:
    with pytest.raises(UsageError, match="at least 5"):
        encode_pairs(bert_family.tokenizer, ["who"], ["bell"], max_tokens=4)
