"""A cross-encoder, a question and candidates in; what each word of a candidate does to its logit out.

Only the candidate's words are masked: the question stays, for it is the same for all candidates. Written by hand:
captum would bring a second way to feed a model for two short formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.heads import one_logit
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.word_units import WordUnit, word_units
from anselect.text.explain_evidence import CandidateEvidence, Method, WordEvidence
from anselect.text.explain_texts import ReadText

TOKENS_PER_BATCH: Final = 4096
FIRST_STEPS: Final = 16
MOST_STEPS: Final = 256
TOLERANCE: Final = 0.01
"""Largest gap that is accepted, as a share of the logit difference that the words explain, or of one logit if that is
larger; twice the steps are taken until it is met, or `MOST_STEPS` are reached."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One question and candidate, tokenized: a row of T tokens."""

    inputs: dict[str, Tensor]
    """Everything that the model takes, (1, T) each."""
    units: list[WordUnit]
    read: list[list[int]]
    """Columns of each word's tokens; empty for a word behind the model's limit."""
    masked_ids: Tensor
    """(1, T): the token ids with every token of the candidate masked."""


def find_evidence(
    ranker: CrossEncoderRanker, question: ReadText, candidates: Sequence[ReadText], *, method: Method | str
) -> list[CandidateEvidence]:
    """Say what each word of each candidate does to its logit, by the method of this name."""
    if method not in METHODS:
        raise UsageError(f"unknown method '{method}': choose from {', '.join(METHODS)}")
    with _evaluating(ranker.model):
        return [METHODS[Method(method)](ranker, question, candidate) for candidate in candidates]


def occlude(ranker: CrossEncoderRanker, question: ReadText, candidate: ReadText) -> CandidateEvidence:
    """Mask one word after the other: a word's value is the logit with it minus the logit without it."""
    pair = encode_words(ranker, question, candidate)
    ids = pair.inputs["input_ids"]
    seen = [place for place, columns in enumerate(pair.read) if columns]
    rows = ids.repeat(len(seen) + 2, 1)
    rows[1] = pair.masked_ids[0]
    for row, place in enumerate(seen, start=2):
        rows[row, pair.read[place]] = pair.masked_ids[0, pair.read[place]]
    logit, masked, *without = _logits(ranker.model, pair.inputs, rows)
    values = dict(zip(seen, (logit - other for other in without), strict=True))
    return CandidateEvidence(candidate.original, Method.OCCLUSION, logit, masked, _words(pair, values))


def integrate_gradients(ranker: CrossEncoderRanker, question: ReadText, candidate: ReadText) -> CandidateEvidence:
    """Integrate the gradient on the straight way from masked to real token embeddings (Sundararajan et al. 2017).

    The values of all words add up to the logit minus the masked logit, but for the gap that is reported.
    """
    pair = encode_words(ranker, question, candidate)
    ids = torch.cat([pair.inputs["input_ids"], pair.masked_ids])
    logit, masked = _logits(ranker.model, pair.inputs, ids)
    tolerance = TOLERANCE * max(1.0, abs(logit - masked))
    steps = FIRST_STEPS
    while True:
        tokens = _integral(ranker.model, pair, steps)
        gap = float(tokens.sum()) - (logit - masked)
        if abs(gap) <= tolerance or steps >= MOST_STEPS:
            break
        steps *= 2
    values = {place: float(tokens[columns].sum()) for place, columns in enumerate(pair.read) if columns}
    words = _words(pair, values)
    return CandidateEvidence(candidate.original, Method.INTEGRATED_GRADIENTS, logit, masked, words, gap, steps)


METHODS: Final[dict[Method, Callable[[CrossEncoderRanker, ReadText, ReadText], CandidateEvidence]]] = {
    Method.OCCLUSION: occlude,
    Method.INTEGRATED_GRADIENTS: integrate_gradients,
}


def encode_words(ranker: CrossEncoderRanker, question: ReadText, candidate: ReadText) -> Pair:
    """Tokenize a pair as for scoring, and find each word's columns."""
    tokenizer, model = ranker.tokenizer, ranker.model
    batch = encode_pairs(tokenizer, [question.text], [candidate.text], max_tokens=model.config.max_tokens)
    columns = batch.candidate_mask[0].nonzero().squeeze(1).tolist()
    units = word_units(tokenizer, candidate)
    read = [[columns[token] for token in unit.tokens if token < len(columns)] for unit in units]
    inputs = {name: tensor.to(model.device) for name, tensor in batch.model_inputs().items()}
    masked = torch.where(inputs["candidate_mask"], _mask_id(tokenizer), inputs["input_ids"])
    return Pair(inputs, units, read, masked)


def _mask_id(tokenizer: PreTrainedTokenizerBase) -> int:
    choices = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id)
    return next(choice for choice in choices if isinstance(choice, int))


def _words(pair: Pair, values: dict[int, float]) -> tuple[WordEvidence, ...]:
    return tuple(
        WordEvidence(unit.text, unit.start, unit.end, values.get(place, 0.0), place in values)
        for place, unit in enumerate(pair.units)
    )


@torch.no_grad()
def _logits(model: AnswerSelectionModel, inputs: dict[str, Tensor], ids: Tensor) -> list[float]:
    """Return the logit of each row of ids (B, T) that share everything else."""
    found: list[float] = []
    for part in torch.split(ids, max(1, TOKENS_PER_BATCH // ids.shape[1])):
        found += one_logit(model(**_repeated(inputs, part)).logits).double().tolist()
    return found


def _repeated(inputs: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
    return {**{name: tensor.expand(len(ids), -1) for name, tensor in inputs.items()}, "input_ids": ids}


def _integral(model: AnswerSelectionModel, pair: Pair, steps: int) -> Tensor:
    """Return each token's share (T) of the logit difference; Gauss's nodes need fewer steps than even ones."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    embedding: Any = model.get_input_embeddings()
    ids = pair.inputs["input_ids"]
    with torch.no_grad():
        start, end = embedding(pair.masked_ids), embedding(ids)  # (1, T, D)
    shares = torch.tensor((nodes + 1) / 2, dtype=start.dtype, device=start.device)
    factors = torch.tensor(weights / 2, dtype=start.dtype, device=start.device)
    total = torch.zeros_like(start)
    rows = max(1, TOKENS_PER_BATCH // ids.shape[1])
    for share, factor in zip(torch.split(shares, rows), torch.split(factors, rows), strict=True):
        points = (start + share.view(-1, 1, 1) * (end - start)).requires_grad_()  # (B, T, D)
        with torch.enable_grad(), _embeddings(embedding, points), torch.backends.cudnn.flags(enabled=False):
            # Without cuDNN, whose recurrent layers have no gradient outside of training.
            logits = one_logit(model(**_repeated(pair.inputs, ids.expand(len(share), -1))).logits)
            (gradient,) = torch.autograd.grad(logits.sum(), points)
        total += (factor.view(-1, 1, 1) * gradient).sum(dim=0, keepdim=True)
    tokens: Tensor = (total * (end - start)).sum(dim=-1)[0].double().cpu()
    return tokens


@contextmanager
def _embeddings(embedding: torch.nn.Module, points: Tensor) -> Iterator[None]:
    """Put these vectors (B, T, D) in the place of the tokens' own; all rows have the same tokens.

    A hook rather than `inputs_embeds`: families that count positions from the token ids go on seeing the ids.
    """

    def replace(_module: torch.nn.Module, inputs: tuple[Tensor, ...], _output: Tensor) -> Tensor:
        # XLNet looks its tokens up as (T, B): there a row holds one token only, again and again.
        is_batch_first = inputs[0].shape == points.shape[:2] and not bool((inputs[0] == inputs[0][:, :1]).all())
        return points if is_batch_first else points.transpose(0, 1)

    handle = embedding.register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _evaluating(model: AnswerSelectionModel) -> Iterator[None]:
    was_training = model.training
    model.eval()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        model.train(was_training)
