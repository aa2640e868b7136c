"""Questions in, numbered question-candidate pairs out, which the batches of a training are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedTokenizerBase

from anselect.errors import DataError
from anselect.modeling.pair_tokens import encode_pairs, pair_template, text_tokens
from anselect.modeling.siamese import pad_features
from anselect.modeling.siamese_ranker import FeatureReader
from anselect.records import Question
from anselect.training.batches import Tensors

TEACHER: Final = "teacher_logit"
"""Where a candidate of a training file has what a teacher said of it, for the loss `distillation`."""


class TextRows:
    """The pairs of labelled questions as text; an unlabelled candidate is refused, an empty question passed over."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.groups: list[list[int]] = []
        self.labels: list[int] = []
        self.teacher: list[float] = []
        self.questions: list[str] = []
        self.candidates: list[str] = []
        for question in questions:
            start = len(self.labels)
            for candidate in question.candidates:
                if candidate.label is None:
                    message = (
                        f"expected a label for training, question {question.id!r}, candidate {candidate.id!r} has none"
                    )
                    raise DataError(message)
                self.labels.append(candidate.label)
                if TEACHER in candidate.metadata:
                    self.teacher.append(_as_logit(candidate.metadata[TEACHER], question.id, candidate.id))
                self.questions.append(question.text)
                self.candidates.append(candidate.text)
            if len(self.labels) > start:
                self.groups.append(list(range(start, len(self.labels))))


def _as_logit(value: str, question_id: str, candidate_id: str) -> float:
    try:
        logit = float(value)
    except ValueError:
        logit = math.nan
    if not math.isfinite(logit):
        where = f"question {question_id!r}, candidate {candidate_id!r}"
        raise DataError(f"expected a finite number as {TEACHER}, got {value!r} for {where}")
    return logit


class TokenRows(TextRows):
    """Pairs for a cross-encoder: each batch is tokenized when it is due, lengths are known from the start."""

    def __init__(self, questions: Sequence[Question], tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        super().__init__(questions)
        self._tokenizer, self._max_tokens = tokenizer, max_tokens
        self.lengths = self._measure()

    def collate(self, rows: Sequence[int]) -> Tensors:
        """Return token ids and masks of these rows."""
        batch = encode_pairs(
            self._tokenizer,
            [self.questions[row] for row in rows],
            [self.candidates[row] for row in rows],
            max_tokens=self._max_tokens,
        )
        return batch.model_inputs()

    def _measure(self) -> npt.NDArray[np.int64]:
        distinct = list(dict.fromkeys(self.questions))
        of_question = dict(zip(distinct, map(len, text_tokens(self._tokenizer, distinct)), strict=True))
        of_candidate = [len(tokens) for tokens in text_tokens(self._tokenizer, self.candidates)]
        specials = pair_template(self._tokenizer).specials
        lengths = [
            specials + of_question[question] + tokens
            for question, tokens in zip(self.questions, of_candidate, strict=True)
        ]
        return np.minimum(np.array(lengths, dtype=np.int64), self._max_tokens)


class FeatureRows(TextRows):
    """Pairs for the siamese model: frozen features of both sides, padded when a batch is due."""

    def __init__(self, questions: Sequence[Question], features: FeatureReader, max_tokens: int) -> None:
        super().__init__(questions)
        self._features, self._max_tokens = features, max_tokens
        features.prepare([*self.questions, *self.candidates])
        self.lengths = np.array([min(len(features.get(text)), max_tokens) for text in self.candidates], dtype=np.int64)

    def collate(self, rows: Sequence[int]) -> Tensors:
        """Return features and masks of these rows."""
        asked = pad_features([self._features.get(self.questions[row]) for row in rows], max_tokens=self._max_tokens)
        texts = pad_features([self._features.get(self.candidates[row]) for row in rows], max_tokens=self._max_tokens)
        return {
            "question_features": asked.features,
            "question_mask": asked.mask,
            "candidate_features": texts.features,
            "candidate_mask": texts.mask,
        }
