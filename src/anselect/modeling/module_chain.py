"""A folder of a modular cross-encoder in (encoder, pooling, dense layers), a network with one logit per pair out.

The layout is that of sentence-transformers from 5.4 on; the library itself is not needed to read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from anselect.data.files import read_json_object
from anselect.errors import DataError
from anselect.modeling.encoders import accepted_inputs, class_vector, load_encoder, masked_mean

MODULES: Final = "modules.json"
SETTINGS: Final = "config_sentence_transformers.json"
WEIGHTS: Final = "model.safetensors"
MODEL_TYPE: Final = "CrossEncoder"
SCORES: Final = "scores"
"""Under which name the last dense layer hands on what it computes."""
REPAIR: Final = "export the model again, or copy the folder anew"
POOLINGS: Final[Mapping[str, str]] = {
    "mean": "pooling_mode_mean_tokens",
    "cls": "pooling_mode_cls_token",
    "lasttoken": "pooling_mode_lasttoken",
}
"""What is understood here, with the switch by which releases before 6 name it."""
ACTIVATIONS: Final[Mapping[str, type[nn.Module]]] = {
    "torch.nn.modules.linear.Identity": nn.Identity,
    "torch.nn.modules.activation.ReLU": nn.ReLU,
    "torch.nn.modules.activation.Tanh": nn.Tanh,
    "torch.nn.modules.activation.GELU": nn.GELU,
}


class ModuleChain(nn.Module):
    """Encoder, pooling over its tokens, dense layers down to one logit, with the face of the library's classifiers."""

    def __init__(self, encoder: PreTrainedModel, pooling: str, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.layers = nn.Sequential(*layers)
        self.config: PreTrainedConfig = encoder.config
        self.config.num_labels = 1

    @property
    def device(self) -> torch.device:
        return self.encoder.device

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Return the logits (B, 1) of B pairs."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        known = {name: values for name, values in inputs.items() if values is not None}
        hidden = self.encoder(**accepted_inputs(self.encoder, known)).last_hidden_state
        if self.pooling == "mean":
            pooled = masked_mean(hidden, attention_mask)
        else:
            pooled = class_vector(hidden, attention_mask, "first" if self.pooling == "cls" else "last")
        return SequenceClassifierOutput(logits=self.layers(pooled))


def is_module_chain(folder: Path) -> bool:
    """Tell whether a folder holds a cross-encoder of several modules; one module is a plain classifier."""
    if not all((folder / name).is_file() for name in (MODULES, SETTINGS)):
        return False
    is_cross_encoder = read_json_object(folder / SETTINGS, REPAIR).get("model_type") == MODEL_TYPE
    return is_cross_encoder and len(_read_modules(folder)) > 1


def read_module_chain(folder: Path) -> ModuleChain:
    """Load the network; raises DataError for modules, poolings or activations that are not known here."""
    modules = _read_modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) != {"Dense"} or modules[0][1] != folder:
        message = "expected an encoder in the folder itself, a pooling and dense layers"
        raise DataError(f"{message}, got {', '.join(kinds)}: only these are known here", path=folder / MODULES)
    layers = [layer for number, (_, path) in enumerate(modules[2:], 3) for layer in _dense(path, number, len(modules))]
    return ModuleChain(load_encoder(str(folder)), _pooling(modules[1][1]), layers)


def _read_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return each module's class name and folder."""
    path = folder / MODULES
    try:
        entries = json.loads(path.read_bytes())
        named = [(str(entry["type"]).rpartition(".")[2], PurePosixPath(entry["path"])) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected a list of modules with type and path ({error!r}): {REPAIR}", path=path) from error
    for _, place in named:
        if place.is_absolute() or ".." in place.parts:
            raise DataError(f"expected a module inside the folder, got '{place}'", path=path)
    return [(kind, folder / place) for kind, place in named]


def _pooling(folder: Path) -> str:
    settings = read_json_object(folder / "config.json", REPAIR)
    found = settings.get("pooling_mode")
    if found is None:
        switches = [name for name, is_on in settings.items() if name.startswith("pooling_mode_") and is_on is True]
        found = next((mode for mode, switch in POOLINGS.items() if switches == [switch]), switches)
    if not isinstance(found, str) or found not in POOLINGS:
        raise DataError(f"expected a pooling of {', '.join(POOLINGS)}, got {found}", path=folder / "config.json")
    return found


def _dense(folder: Path, number: int, count: int) -> tuple[nn.Linear, nn.Module]:
    path = folder / "config.json"
    settings = read_json_object(path, REPAIR)
    activation = ACTIVATIONS.get(str(settings.get("activation_function")))
    if activation is None or settings.get("use_residual"):
        raise DataError(f"expected a plain layer with one of {', '.join(ACTIVATIONS)}, got another", path=path)
    weights = load_file(folder / WEIGHTS)
    _check_weights(weights, settings, folder / WEIGHTS)
    if number == count and (settings.get("module_output_name") != SCORES or settings["out_features"] != 1):
        raise DataError(f"expected a last layer with one output, '{SCORES}', got another", path=path)
    linear = nn.Linear(settings["in_features"], settings["out_features"], bias="linear.bias" in weights)
    linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in weights.items()})
    return linear, activation()


def _check_weights(weights: Mapping[str, Tensor], settings: Mapping[str, Any], path: Path) -> None:
    wanted = [settings.get("out_features"), settings.get("in_features")]
    found = weights.get("linear.weight")
    if found is None or list(found.shape) != wanted:
        shape = None if found is None else list(found.shape)
        raise DataError(f"expected linear.weight of {wanted}, got {shape}: {REPAIR}", path=path)
