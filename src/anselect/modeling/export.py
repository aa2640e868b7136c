"""A cross-encoder in, a folder with one logit out that `sentence_transformers.CrossEncoder` and other rerankers load.

Two logits fold into one by their difference: sigmoid(l₁ - l₀) is softmax(l)₁, so scores stay what they were. A linear
head on BERT's class token becomes a plain Hugging Face classifier; the mean over tokens, other families and the `fc`
head have no such form and become a chain of modules (`export_modules`).
"""

from __future__ import annotations

import copy
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from anselect.errors import AnselectError, UsageError
from anselect.modeling.checkpoint import WRITE_ERRORS, write_failure
from anselect.modeling.classifier_ranker import read_classifier
from anselect.modeling.cross_encoder import AnswerSelectionModel, probabilities
from anselect.modeling.encoders import accepted_inputs, quiet
from anselect.modeling.export_modules import SIGMOID, folded, write_modules
from anselect.modeling.pair_tokens import encode_pairs
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.scoring import score_pairs

PLAIN_HEADS: Final = ("linear", "sigmoid")
HEADS: Final = (*PLAIN_HEADS, "fc")
PLAIN_FAMILY: Final = "bert"
"""The family whose classifier in the library is pooler, dropout, one linear layer."""
SMALL: Final = 1e-3
"""Scale at which tanh, which the library's classifier has and ours has not, is the identity to 7 digits."""
LARGEST_DIFFERENCE: Final = 1e-4

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExportedClassifier:
    """What was written."""

    is_modular: bool
    """Whether it is a chain of modules, which sentence-transformers reads from 5.4 on, or a plain classifier."""
    largest_difference: float
    """Between a score of the folder and one of the model, over the samples."""


def export_classifier(ranker: CrossEncoderRanker, folder: Path, *, samples: Sequence[Pair]) -> ExportedClassifier:
    """Write a folder with one logit, read it back and compare its scores on the samples, and on one that is cut.

    Pairs are tokenized by the library's own call there, which differs from ours in one thing: a question longer than
    half of the limit is cut as much as its candidate. Raises UsageError for a model that has no such form,
    AnselectError (and writes nothing) if scores differ.
    """
    is_modular = _needs_modules(ranker.model)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: expected an empty or new folder, got one with files: choose another")
    with _whole(folder) as part:
        with quiet(), _explained(folder):
            write = write_modules if is_modular else _write_plain
            write(ranker.model, part)
            _other_tokenizer(ranker).save_pretrained(part)
        difference = _largest_difference(ranker, part, samples)
        if difference > LARGEST_DIFFERENCE:
            raise AnselectError(f"the exported scores differ by {difference:.2g}: nothing was written to {folder}")
    return ExportedClassifier(is_modular, difference)


def fold_classifier(model: AnswerSelectionModel) -> PreTrainedModel:
    """Build the library's one-logit classifier with this model's weights."""
    config = type(model.encoder.config).from_dict(model.encoder.config.to_dict())
    config.num_labels = 1
    with quiet():
        classifier: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
    weights = {f"{classifier.base_model_prefix}.{name}": value for name, value in model.encoder.state_dict().items()}
    weight, bias = folded(cast(nn.Linear, model.head.output))
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


def _needs_modules(model: AnswerSelectionModel) -> bool:
    """Say in which form a model can be written; raise UsageError if in none."""
    head, pooling, family = model.config.head, model.config.pooling, model.encoder.config.model_type
    if head not in HEADS:
        message = f"expected a head of {', '.join(HEADS)}, got '{head}'"
        raise UsageError(f"{message}: heads that read single tokens have no form that others load")
    if model.config.highlight:
        message = f"trained on highlighting '{model.config.highlight}', which others would not do"
        raise UsageError(f"{message}: export it for the engine")
    if model.config.exit_below is not None:
        raise UsageError("pairs leave this model early, which others cannot do: set its exit_below to None and save it")
    if model.config.question_layers:
        raise UsageError("a question does not see its candidate in this model's lower layers, which others cannot do")
    if model.config.sides_apart:
        raise UsageError("both sides have places and attention of their own in this model, which others cannot do")
    if family == PLAIN_FAMILY and head in PLAIN_HEADS and pooling != "mean":
        return False
    if pooling == "pooler":
        message = f"expected pooling by class token or mean for '{head}' on '{family}', got 'pooler'"
        raise UsageError(f"{message}: only a linear head on BERT's pooler has a form that others load")
    return True


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes the folder if nothing is raised."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        yield
    except WRITE_ERRORS as error:
        raise AnselectError(f"{folder}: could not be written ({write_failure(error, _existing(folder))})") from error


def _existing(folder: Path) -> Path:
    return next(place for place in folder.absolute().parents if place.is_dir())


def _write_plain(model: AnswerSelectionModel, folder: Path) -> None:
    fold_classifier(model).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    # sentence-transformers gives sigmoid scores then, as it does for its own one-logit models.
    config["sentence_transformers"] = {"activation_fn": SIGMOID}
    path.write_text(json.dumps(config, indent=2), encoding="utf-8")


def _other_tokenizer(ranker: CrossEncoderRanker) -> PreTrainedTokenizerBase:
    """Return a tokenizer whose own pair call does what `encode_pairs` does: limit, inputs, no forged special tokens."""
    tokenizer = copy.deepcopy(ranker.tokenizer)
    inputs = encode_pairs(tokenizer, ["a"], ["b"], max_tokens=ranker.model.config.max_tokens).inputs
    settings: dict[str, Any] = {
        "model_max_length": ranker.model.config.max_tokens,
        # XLNet's tokenizer gives no segment ids unless told to.
        "model_input_names": list(accepted_inputs(ranker.model.encoder, inputs)),
        "split_special_tokens": True,
    }
    tokenizer.init_kwargs |= settings  # only what stands there is saved, with the value that the attribute has
    for name, value in settings.items():
        setattr(tokenizer, name, value)
    return tokenizer


@torch.inference_mode()
def _largest_difference(ranker: CrossEncoderRanker, folder: Path, samples: Sequence[Pair]) -> float:
    long = " ".join(text for _, text in samples).split() * ranker.model.config.max_tokens
    pairs = [*samples, (samples[0][0], " ".join(long[: ranker.model.config.max_tokens]))] if long else list(samples)
    questions, candidates = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ours = score_pairs(ranker.model, ranker.tokenizer, questions, candidates).scores
    classifier, tokenizer = read_classifier(folder, folder.name)
    batch = tokenizer(questions, candidates, padding=True, truncation="longest_first", return_tensors="pt")
    theirs = probabilities(classifier.classifier(**batch).logits).tolist()
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=True)), default=0.0)
