"""Questions and candidates come in as text; padded token ids of each pair and masks of both sides go out.

Pairs are put together from the tokenizer's own template, so that every family keeps its convention: BERT's
`[CLS] q [SEP] c [SEP]` with segment ids, RoBERTa's and MPNet's `<s> q </s></s> c </s>` without them, XLNet's
`q <sep> c <sep> <cls>` padded on the left. The library's own pair call is not used, because it tokenizes a question
again for each of its candidates and fails on questions longer than the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from anselect.errors import UsageError

MIN_CANDIDATE_TOKENS = 16
"""How many tokens a question that is longer than the limit leaves to its candidate."""

Tokens = list[int]


@dataclass(frozen=True, slots=True)
class Specials:
    """Special tokens that stand together in a pair, with their segment ids."""

    ids: Tokens
    segments: Tokens


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """What a tokenizer puts before, between and behind the two texts of a pair."""

    before: Specials
    between: Specials
    behind: Specials
    question_segment: int
    candidate_segment: int
    class_position: Literal["first", "last"]

    @property
    def specials(self) -> int:
        """How many tokens the template itself takes."""
        return len(self.before.ids) + len(self.between.ids) + len(self.behind.ids)

    @property
    def has_segments(self) -> bool:
        """Whether the family tells question and candidate apart by segment ids.

        Read off the template, not the tokenizer's list of inputs: transformers 5 leaves XLNet's out of that list.
        """
        return self.question_segment != self.candidate_segment


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Token ids of question-candidate pairs, B rows of T tokens, ready for a model."""

    inputs: dict[str, torch.Tensor]
    """`input_ids`, `attention_mask` and, where the family has them, `token_type_ids`."""
    question_mask: torch.Tensor
    """True at the question's own tokens: no special token, no padding."""
    candidate_mask: torch.Tensor
    """True at the candidate's own tokens."""
    cut_candidates: int
    """How many candidates were cut to fit."""
    cut_questions: int
    """How many rows had a question so long that it was cut as well."""

    def __len__(self) -> int:
        return len(self.question_mask)

    def model_inputs(self) -> dict[str, torch.Tensor]:
        """Return everything that `AnswerSelectionModel.forward` takes, by name."""
        return {**self.inputs, "question_mask": self.question_mask, "candidate_mask": self.candidate_mask}


@dataclass(frozen=True, slots=True)
class _Row:
    question: Tokens
    candidate: Tokens
    cut_question: bool
    cut_candidate: bool


def pair_template(tokenizer: PreTrainedTokenizerBase) -> PairTemplate:
    """Read off a tokenizer how it joins two texts; raises UsageError for one without a `tokenizer.json`."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise UsageError(f"expected a fast tokenizer, got {type(tokenizer).__name__}: convert it to tokenizer.json")
    _clear_limits(backend)
    encoding = backend.encode("a", "b")
    sides, ids, segments = encoding.sequence_ids, encoding.ids, encoding.type_ids
    question, candidate = sides.index(0), sides.index(1)
    between, behind = len(sides) - sides[::-1].index(0), len(sides) - sides[::-1].index(1)
    return PairTemplate(
        before=Specials(ids[:question], segments[:question]),
        between=Specials(ids[between:candidate], segments[between:candidate]),
        behind=Specials(ids[behind:], segments[behind:]),
        question_segment=segments[question],
        candidate_segment=segments[candidate],
        class_position="last" if ids[-1] == tokenizer.cls_token_id else "first",
    )


def encode_pairs(
    tokenizer: PreTrainedTokenizerBase, questions: Sequence[str], candidates: Sequence[str], *, max_tokens: int
) -> PairBatch:
    """Tokenize row i as the pair (questions[i], candidates[i]) of at most `max_tokens` tokens, specials included.

    Only the candidate is cut. A question is cut too where it alone would leave its candidate fewer than
    `MIN_CANDIDATE_TOKENS` tokens (half the room where the limit is tiny).
    Names of special tokens in a text (a literal "[SEP]") are read as text: a candidate cannot forge the structure.
    """
    if len(questions) != len(candidates):
        raise UsageError(f"expected as many questions as candidates, got {len(questions)} and {len(candidates)}")
    template = pair_template(tokenizer)
    room = max_tokens - template.specials
    if room < 2:
        raise UsageError(f"max_tokens is {max_tokens}: expected at least {template.specials + 2}")
    distinct = list(dict.fromkeys(questions))
    question_tokens = dict(zip(distinct, text_tokens(tokenizer, distinct), strict=True))
    rows = [
        _fit(question_tokens[question], candidate, room)
        for question, candidate in zip(questions, text_tokens(tokenizer, candidates), strict=True)
    ]
    return _pad(rows, template, tokenizer)


def text_tokens(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Tokens]:
    """Return each text's token ids; no special token among them, whatever the text says."""
    backend = tokenizer.backend_tokenizer
    _clear_limits(backend)
    backend.encode_special_tokens = True
    encodings = backend.encode_batch(list(texts), add_special_tokens=False)
    # Sentencepiece vocabularies (XLNet, DeBERTa v2) hold the special names as ordinary pieces too.
    unknown = tokenizer.unk_token_id
    reserved = set(tokenizer.all_special_ids) - {unknown}
    return [_replaced(encoding.ids, reserved, unknown) for encoding in encodings]


def _replaced(ids: Tokens, reserved: set[int], unknown: int) -> Tokens:
    return ids if reserved.isdisjoint(ids) else [unknown if token in reserved else token for token in ids]


def _clear_limits(backend: Tokenizer) -> None:
    # A published tokenizer.json may hold a length limit and fixed padding (all-MiniLM-L6-v2: 128 and 128).
    backend.no_truncation()
    backend.no_padding()


def _fit(question: Tokens, candidate: Tokens, room: int) -> _Row:
    reserved = min(len(candidate), MIN_CANDIDATE_TOKENS, room // 2)
    question_room = min(len(question), room - reserved)
    candidate_room = min(len(candidate), room - question_room)
    return _Row(
        question[:question_room],
        candidate[:candidate_room],
        question_room < len(question),
        candidate_room < len(candidate),
    )


def _pad(rows: Sequence[_Row], template: PairTemplate, tokenizer: PreTrainedTokenizerBase) -> PairBatch:
    lengths = [template.specials + len(row.question) + len(row.candidate) for row in rows]
    shape = (len(rows), max(lengths, default=0))
    ids = np.full(shape, tokenizer.pad_token_id, dtype=np.int64)
    segments = np.full(shape, tokenizer.pad_token_type_id, dtype=np.int64)
    attention = np.zeros(shape, dtype=np.int64)
    question_mask, candidate_mask = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for index, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        start = shape[1] - length if tokenizer.padding_side == "left" else 0
        place = slice(start, start + length)
        ids[index, place] = [
            *template.before.ids,
            *row.question,
            *template.between.ids,
            *row.candidate,
            *template.behind.ids,
        ]
        segments[index, place] = _segments(row, template)
        attention[index, place] = 1
        question_start = start + len(template.before.ids)
        candidate_start = question_start + len(row.question) + len(template.between.ids)
        question_mask[index, question_start : question_start + len(row.question)] = True
        candidate_mask[index, candidate_start : candidate_start + len(row.candidate)] = True
    inputs = {"input_ids": ids, "attention_mask": attention}
    if template.has_segments:
        inputs["token_type_ids"] = segments
    return PairBatch(
        inputs={name: torch.from_numpy(array) for name, array in inputs.items()},
        question_mask=torch.from_numpy(question_mask),
        candidate_mask=torch.from_numpy(candidate_mask),
        cut_candidates=sum(row.cut_candidate for row in rows),
        cut_questions=sum(row.cut_question for row in rows),
    )


def _segments(row: _Row, template: PairTemplate) -> Tokens:
    question = [template.question_segment] * len(row.question)
    candidate = [template.candidate_segment] * len(row.candidate)
    return [*template.before.segments, *question, *template.between.segments, *candidate, *template.behind.segments]
