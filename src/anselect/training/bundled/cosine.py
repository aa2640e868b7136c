"""An encoder that nobody fine-tuned in, cosines of questions and candidates out: what a trained model must beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from anselect.modeling.encoders import accepted_inputs, load_encoder, load_tokenizer, masked_mean
from anselect.records import Question

TEXTS_PER_BATCH: Final = 64
MAX_TOKENS: Final = 256


def text_vectors(encoder: str) -> Callable[[Sequence[str]], dict[str, torch.Tensor]]:
    """Return a function from texts to their mean token vectors, brought to length 1."""
    model, tokenizer = load_encoder(encoder), load_tokenizer(encoder)

    @torch.inference_mode()
    def vectors(texts: Sequence[str]) -> dict[str, torch.Tensor]:
        known: dict[str, torch.Tensor] = {}
        ordered = sorted(set(texts), key=len)
        for start in range(0, len(ordered), TEXTS_PER_BATCH):
            part = ordered[start : start + TEXTS_PER_BATCH]
            encoded = tokenizer(part, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            inputs: dict[str, Any] = accepted_inputs(model, dict(encoded))
            hidden = model(**inputs).last_hidden_state
            means = torch.nn.functional.normalize(masked_mean(hidden, inputs["attention_mask"]), dim=-1)
            known |= dict(zip(part, means, strict=True))
        return known

    return vectors


def cosine_scorer(encoder: str) -> Callable[[Sequence[Question]], list[list[float]]]:
    """Return a function that scores candidates by the cosine of mean token vectors."""
    vectors = text_vectors(encoder)

    def score(questions: Sequence[Question]) -> list[list[float]]:
        texts = [question.text for question in questions]
        texts += [candidate.text for question in questions for candidate in question.candidates]
        known = vectors(texts)
        return [
            [float(known[question.text] @ known[candidate.text]) for candidate in question.candidates]
            for question in questions
        ]

    return score
