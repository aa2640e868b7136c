"""A cross-encoder with a linear head in, a one-logit Hugging Face classifier out, which other rerankers load.

Two logits fold into one by their difference: sigmoid(l₁ - l₀) is softmax(l)₁, so scores stay what they were.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from anselect.errors import AnselectError, UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import quiet
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.scoring import score_pairs

FOLDABLE_HEADS: Final = ("linear", "sigmoid")
FAMILIES: Final = ("bert",)
"""Families whose classifier in the library is pooler, dropout, one linear layer."""
SMALL: Final = 1e-3
"""Scale at which tanh, which the library's classifier has and ours has not, is the identity to 7 digits."""
LARGEST_DIFFERENCE: Final = 1e-4


def export_classifier(ranker: CrossEncoderRanker, folder: Path, *, samples: Sequence[tuple[str, str]]) -> float:
    """Write a one-logit `*ForSequenceClassification` folder; return the largest difference of scores on the samples.

    Raises UsageError for a head or family that cannot be folded, AnselectError (and writes nothing) if scores differ.
    """
    model = ranker.model
    encoder_config: Any = model.encoder.config
    if model.config.head not in FOLDABLE_HEADS:
        heads = " and ".join(FOLDABLE_HEADS)
        raise UsageError(f"expected a {heads} head, got '{model.config.head}': other heads have no one-logit form")
    if encoder_config.model_type not in FAMILIES:
        raise UsageError(f"expected an encoder of {', '.join(FAMILIES)}, got '{encoder_config.model_type}'")
    if model.config.pooling == "mean":
        raise UsageError(
            "expected pooling by class token or pooler, got 'mean': the library's classifier has no such form"
        )
    classifier = fold_classifier(model)
    difference = _largest_difference(ranker, classifier, samples)
    if difference > LARGEST_DIFFERENCE:
        raise AnselectError(f"the folded model's scores differ by {difference:.2g}: nothing was written to {folder}")
    _write(classifier, ranker, folder)
    return difference


def fold_classifier(model: AnswerSelectionModel) -> PreTrainedModel:
    """Build the library's one-logit classifier with this model's weights."""
    config = type(model.encoder.config).from_dict(model.encoder.config.to_dict())
    config.num_labels = 1
    with quiet():
        classifier: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
    weights = {f"{classifier.base_model_prefix}.{name}": value for name, value in model.encoder.state_dict().items()}
    weight, bias = _one_row(model.head.output)
    has_pooler = model.config.pooling == "pooler"
    scale = 1.0 if has_pooler else SMALL
    weights |= {"classifier.weight": weight / scale, "classifier.bias": bias}
    if not has_pooler:
        width = model.encoder.config.hidden_size
        pooler = f"{classifier.base_model_prefix}.pooler.dense"
        weights |= {f"{pooler}.weight": SMALL * torch.eye(width), f"{pooler}.bias": torch.zeros(width)}
    classifier.load_state_dict(weights)
    classifier.eval()
    built: PreTrainedModel = classifier
    return built


def _one_row(output: Any) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: ANN401 - an nn.Linear
    weight, bias = output.weight.detach(), output.bias.detach()
    return (weight[1:] - weight[:1], bias[1:] - bias[:1]) if len(weight) == 2 else (weight, bias)


@torch.inference_mode()
def _largest_difference(
    ranker: CrossEncoderRanker, classifier: PreTrainedModel, samples: Sequence[tuple[str, str]]
) -> float:
    questions, candidates = [pair[0] for pair in samples], [pair[1] for pair in samples]
    ours = score_pairs(ranker.model, ranker.tokenizer, questions, candidates).scores
    batch = encode_pairs(ranker.tokenizer, questions, candidates, max_tokens=ranker.model.config.max_tokens)
    theirs = torch.sigmoid(classifier(**batch.inputs).logits.squeeze(-1)).tolist()
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _write(classifier: PreTrainedModel, ranker: CrossEncoderRanker, folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: expected an empty or new folder, got one with files: choose another")
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with quiet():
            classifier.save_pretrained(part)
            ranker.tokenizer.model_max_length = ranker.model.config.max_tokens
            ranker.tokenizer.save_pretrained(part)
        _name_activation(part / "config.json")
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _name_activation(path: Path) -> None:
    """Tell sentence-transformers to give sigmoid scores, as it does for its own one-logit models."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    path.write_text(json.dumps(config, indent=2), encoding="utf-8")
