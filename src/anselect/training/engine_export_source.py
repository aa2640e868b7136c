"""A folder with a trained cross-encoder in, ours or the Hub's, and what an export needs of it out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from anselect.engine.batching import Batch
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.modeling.checkpoint import MANIFEST, model_folder
from anselect.modeling.cross_encoder import AnswerSelectionModel, most_tokens
from anselect.modeling.encoders import accepted_inputs, quiet
from anselect.modeling.heads import one_logit
from anselect.modeling.pair_tokens import pair_template
from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
from anselect.training.engine_export_layers import BertParts, ExitGate, HeadLayer, named_weights

MOST_TOKENS: Final = 512
HEAD_LAYERS: Final[Mapping[str, tuple[HeadLayer, ...]]] = {
    "linear": (HeadLayer("model.head.output"),),
    "sigmoid": (HeadLayer("model.head.output"),),
    "match": (HeadLayer("model.head.output"),),
    "fc": (HeadLayer("model.head.classifier.hidden", "Relu"), HeadLayer("model.head.classifier.output")),
}
"""Heads that the hand-made graph knows."""


class Network(nn.Module):
    """A model of ours or the Hub's behind one face: unpadded ids, segments and masks in, one logit per pair out."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, segments: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> Tensor:
        """Return the logits (B) of (B, T) tokens."""
        inputs: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "token_type_ids": segments,
        }
        if isinstance(self.model, AnswerSelectionModel):
            inputs |= {"question_mask": question_mask, "candidate_mask": candidate_mask}
        else:
            inputs = accepted_inputs(self.model, inputs)
        return one_logit(self.model(**inputs).logits)


@dataclass(frozen=True, slots=True)
class Source:
    """A cross-encoder to be exported."""

    name: str
    network: Network
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    text_steps: dict[str, Any]
    trained: dict[str, Any]
    """By which recipe, and what it reached; empty where that is not known."""

    def logits(self, batches: Iterable[Batch], count: int) -> NDArray[np.float64]:
        """Run the original network; return the logits of `count` pairs."""
        found = np.empty(count)
        with torch.inference_mode():
            for batch in batches:
                inputs = {name: torch.from_numpy(array) for name, array in batch.inputs.items()}
                found[batch.pairs] = self.network(**inputs).double().numpy()
        return found

    def bert_parts(self) -> BertParts | None:
        """Return what the hand-made graph needs; None for a model that it does not know."""
        config: Any = self.network.model.config
        is_ours = isinstance(self.network.model, AnswerSelectionModel)
        encoder: Any = config.encoder_config if is_ours else config
        head = HEAD_LAYERS.get(config.head) if is_ours else (HeadLayer("model.classifier"),)
        if encoder.model_type != "bert" or head is None or encoder.hidden_act != "gelu":
            return None
        prefix = "model.encoder." if is_ours else "model.bert."
        pooling = config.pooling if is_ours else "pooler"
        matches = is_ours and config.head == "match"
        question_layers = config.question_layers if is_ours else 0
        if matches and (pooling != "mean" or question_layers):
            return None
        lowered = _lowered(self.network.model)
        if lowered is not None and pooling != "mean":
            return None
        if pooling == "pooler":
            head = (HeadLayer(f"{prefix}pooler.dense", "Tanh"), *head)
        return BertParts(
            prefix=prefix,
            weights=named_weights(self.network),
            layers=encoder.num_hidden_layers,
            heads=encoder.num_attention_heads,
            epsilon=encoder.layer_norm_eps,
            max_tokens=self.max_tokens,
            mean=pooling == "mean",
            head=head,
            match=matches,
            exit=_exit_gate(config) if is_ours else None,
            question_layers=question_layers,
            lowered=lowered,
        )


def _lowered(model: PreTrainedModel) -> NDArray[np.float32] | None:
    """Return what is taken from attention between the sides, where they have places of their own."""
    if isinstance(model, AnswerSelectionModel) and model.config.sides_apart:
        return model.cross_attention.values()
    return None


def _exit_gate(config: Any) -> ExitGate | None:  # noqa: ANN401 - a model's settings
    if not config.exit_layer or config.exit_below is None:
        return None
    if config.exit_layer < config.question_layers:
        raise UsageError(f"expected an exit behind the {config.question_layers} layers that read questions alone")
    head = (replace(each, name=each.name.replace("head.", "exit_head.", 1)) for each in HEAD_LAYERS[config.head])
    return ExitGate(config.exit_layer, tuple(head), config.exit_below, config.exit_tokens)


def load_source(folder: Path) -> Source:
    """Read a run, a model of ours, or a `*ForSequenceClassification` folder with one or two classes.

    Raises MissingFileError if there is none, UsageError for what is no cross-encoder, DataError if it is damaged.
    """
    if not folder.is_dir():
        raise MissingFileError(f"{folder}: no such run or model folder")
    model = model_folder(folder)
    name = model.resolve().parent.name if model.name == "model" else model.resolve().name
    source = _load_ours(model, name) if (model / MANIFEST).is_file() else _load_classifier(model, name)
    pair_template(source.tokenizer)  # refuses a tokenizer without tokenizer.json, and clears its limits
    source.network.float().eval()
    return source


def _load_ours(folder: Path, name: str) -> Source:
    ranker = load_ranker(folder)
    if not isinstance(ranker, CrossEncoderRanker):
        raise UsageError(f"{folder}: expected a cross-encoder, got a {type(ranker).__name__}")
    config: Any = ranker.model.config
    steps = dict(getattr(config, "text_steps", {}))
    trained_on, prepared = config.highlight or "none", steps.get("highlight", "none")
    if trained_on != prepared:
        raise DataError(f"trained on highlighting '{trained_on}', its text steps say '{prepared}'", path=folder)
    trained = dict(getattr(config, "trained", {}))
    return Source(name, Network(ranker.model), ranker.tokenizer, config.max_tokens, steps, trained)


def _load_classifier(folder: Path, name: str) -> Source:
    config_file = folder / "config.json"
    if not config_file.is_file():
        raise MissingFileError(f"{folder}: expected a run or a model with config.json, got neither")
    try:
        names = json.loads(config_file.read_text(encoding="utf-8")).get("architectures") or []
        if not any(str(each).endswith("ForSequenceClassification") for each in names):
            raise UsageError(
                f"{folder}: expected a model for sequence classification, got {', '.join(names) or 'none'}"
            )
        with quiet():
            model: Any = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True)
            tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, SafetensorError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"expected a model that can be loaded: {reason}", path=folder) from error
    if model.config.num_labels not in (1, 2):
        raise UsageError(f"{folder}: expected a model with one or two classes, got {model.config.num_labels}")
    limits = (tokenizer.model_max_length, most_tokens(model.config) or MOST_TOKENS, MOST_TOKENS)
    return Source(name, Network(model), tokenizer, min(limits), {}, {})
