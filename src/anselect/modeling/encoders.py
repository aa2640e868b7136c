"""A name comes in (Hub id, folder, packaged model), a Hugging Face encoder or its tokenizer goes out, offline too."""

from __future__ import annotations

import functools
import inspect
import logging
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from safetensors import SafetensorError
from torch import nn
from transformers import (
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from anselect.errors import DataError, MissingFileError, UsageError
from anselect.modeling.weights_packages import find_weights, weights_package

PROBE_SECONDS: Final = 3.0
"""How long the Hub may take to answer at all. The Hub's own client tries for 23 seconds without a network."""


@dataclass(frozen=True, slots=True)
class EncoderSource:
    """Where a named encoder is to be read from."""

    name: str
    location: str
    """A folder, or the Hub id."""
    local_only: bool
    """Whether nothing may be fetched."""


def locate_encoder(name: str) -> EncoderSource:
    """Find out where a named encoder can be had: a folder, an installed weights package, the Hub's cache, the Hub.

    Raises MissingFileError, within seconds, if it cannot be had.
    """
    if Path(name).is_dir():
        return EncoderSource(name, name, local_only=True)
    package = weights_package(name)
    folder = None if package is None else find_weights(package)
    if folder is not None:
        return EncoderSource(name, str(folder), local_only=True)
    if _is_cached(name):
        return EncoderSource(name, name, local_only=True)
    if constants.HF_HUB_OFFLINE or not _hub_answers():
        raise _not_found(name)
    return EncoderSource(name, name, local_only=False)


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a named encoder."""
    source = locate_encoder(name)
    with _explained(source), quiet():
        tokenizer = AutoTokenizer.from_pretrained(source.location, local_files_only=source.local_only)
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise DataError(f"expected a tokenizer, got {type(tokenizer).__name__}", path=source.location)
    if Path(source.location).is_dir():
        require_vocabulary(tokenizer, Path(source.location))
    return tokenizer


def require_vocabulary(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Raise DataError for a folder without vocabulary, of which the library makes a tokenizer that knows no word."""
    if not any((folder / name).is_file() for name in tokenizer.vocab_files_names.values()):
        raise DataError("expected a tokenizer beside the model, there is none", path=folder)


def load_encoder(name: str, *, pooler: bool = False, attention: str | None = None) -> PreTrainedModel:
    """Load a named encoder in float32; without its pooling layer unless `pooler` asks for it.

    `attention` names an implementation ("eager", "sdpa"). A pooler that is loaded but not used would only be
    weights without gradients. Raises DataError if the files lack weights of the model.
    """
    source = locate_encoder(name)
    with _explained(source), quiet():
        config = AutoConfig.from_pretrained(source.location, local_files_only=source.local_only)
        encoder, report = AutoModel.from_pretrained(
            source.location,
            config=config,
            local_files_only=source.local_only,
            attn_implementation=attention,
            dtype=torch.float32,
            output_loading_info=True,
            **pooler_options(config, pooler=pooler),
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise DataError(f"expected all weights of the model, {len(missing)} are missing ({missing[0]}, …)", path=name)
    loaded: PreTrainedModel = encoder
    return loaded


def pooler_options(config: PreTrainedConfig, *, pooler: bool) -> dict[str, bool]:
    """Return the constructor option that leaves the pooling layer out, for families that have one."""
    models: Any = MODEL_MAPPING[type(config)]
    model = models[0] if isinstance(models, tuple | list) else models
    return {"add_pooling_layer": pooler} if "add_pooling_layer" in inspect.signature(model).parameters else {}


def freeze_lowest(encoder: PreTrainedModel, layers: int, *, new_tokens: Sequence[int] = ()) -> None:
    """Keep the embeddings, but for those of new tokens, and the lowest layers as they are; 0 layers freezes nothing.

    An optimizer must not decay the embeddings then: that would move the known ones too.
    """
    stacks = [part for part in encoder.modules() if isinstance(part, nn.ModuleList)]
    stack = next((part for part in stacks if len(part) == encoder.config.num_hidden_layers), None)
    if stack is None or layers > len(stack):
        raise UsageError(f"expected at most {encoder.config.num_hidden_layers} layers to freeze, got {layers}")
    if layers:
        encoder.get_input_embeddings().requires_grad_(False)
        for part in (getattr(encoder, "embeddings", None), *stack[:layers]):
            if isinstance(part, nn.Module):
                part.requires_grad_(False)
        if new_tokens:
            _train_rows(cast(torch.Tensor, encoder.get_input_embeddings().weight), list(new_tokens))


def set_dropout(encoder: nn.Module, share: float) -> None:
    """Let every dropout layer of an encoder drop so large a share."""
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def _train_rows(weights: torch.Tensor, rows: list[int]) -> None:
    def keep_rows(gradient: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(gradient).index_copy_(0, torch.tensor(rows, device=gradient.device), gradient[rows])

    weights.requires_grad_(True).register_hook(keep_rows)  # type: ignore[no-untyped-call]


def class_vector(hidden: torch.Tensor, attention_mask: torch.Tensor, position: str) -> torch.Tensor:
    """Pick the class token's vector (B, D) out of (B, T, D): each row's first or last token that is not padding."""
    places = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    real = attention_mask.bool()
    if position == "last":
        index = torch.where(real, places, -1).amax(dim=1)
    else:
        index = torch.where(real, places, attention_mask.shape[1]).amin(dim=1)
    picked = index.view(-1, 1, 1).expand(-1, 1, hidden.shape[2])
    return hidden.gather(1, picked).squeeze(1)


def masked_mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean (B, D) of (B, T, D) over the places that the mask (B, T) keeps, zeros where it keeps none."""
    mask = mask.bool()
    kept = hidden.masked_fill(~mask.unsqueeze(-1), 0.0)
    return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def accepted_inputs(encoder: PreTrainedModel, inputs: dict[str, Any]) -> dict[str, Any]:
    """Leave out segment ids that the encoder has no use for: RoBERTa and MPNet have none, ELECTRA and BERT two."""
    # XLNet compares segments instead of embedding them, and has no such number.
    kinds = getattr(encoder.config, "type_vocab_size", 2)
    has_segments = inputs.get("token_type_ids") is not None
    if has_segments and kinds != 1 and _takes_segments(type(encoder).forward):
        return inputs
    return {name: value for name, value in inputs.items() if name != "token_type_ids"}


@functools.cache
def _takes_segments(forward: Callable[..., object]) -> bool:
    return "token_type_ids" in inspect.signature(forward).parameters


def _is_cached(name: str) -> bool:
    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError as error:
        message = f"{name}: no such folder, and not a name that the Hugging Face Hub could have"
        raise MissingFileError(message) from error


def _hub_answers() -> bool:
    try:
        with urllib.request.urlopen(constants.ENDPOINT, timeout=PROBE_SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def _not_found(name: str) -> MissingFileError:
    package = weights_package(name)
    if package is not None:
        how = f"get it with: {package.pip_line}"
    else:
        how = f"get it where there is a network (hf download {name}) and copy the folder here"
    why = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else f"{constants.ENDPOINT} does not answer"
    places = "no such folder, not in an installed weights package, not in the Hub's cache"
    return MissingFileError(f"encoder {name}: {places} ({constants.HF_HUB_CACHE}), and {why}; {how}")


@contextmanager
def _explained(source: EncoderSource) -> Iterator[None]:
    """Turn the library's many-line errors into one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise MissingFileError(f"encoder {source.name}: cannot be loaded from {source.location}: {reason}") from error
    except SafetensorError as error:
        raise DataError(
            f"expected whole weights, got a damaged file ({error}): get it again", path=source.name
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the bar and the report of weights left out on purpose; missing weights are checked and raised."""
    verbosity, has_bar = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if has_bar:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
