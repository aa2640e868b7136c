"""A cross-encoder in, the modules of a sentence-transformers `CrossEncoder` out: encoder, pooling, dense layers.

Plain files that the library (from 5.4 on) reads without running code of ours; it is not needed to write them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from safetensors.torch import save_file
from torch import Tensor, nn

from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import pooler_options
from anselect.modeling.module_chain import MODEL_TYPE, MODULES, POOLINGS, SCORES, SETTINGS, WEIGHTS

SIGMOID: Final = "torch.nn.modules.activation.Sigmoid"
IDENTITY: Final = "torch.nn.modules.linear.Identity"
RELU: Final = "torch.nn.modules.activation.ReLU"
ENCODER_SETTINGS: Final = "sentence_bert_config.json"
VECTOR: Final = "sentence_embedding"
CLASSES: Final = (
    "sentence_transformers.base.modules.transformer.Transformer",
    "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "sentence_transformers.base.modules.dense.Dense",
)

Layer = tuple[Tensor, Tensor, str]
"""Weight, bias and activation of a dense layer."""


def folded(output: nn.Linear) -> tuple[Tensor, Tensor]:
    """Return weight and bias of the one logit whose sigmoid is P(correct): two rows fold to their difference."""
    weight, bias = output.weight.detach(), output.bias.detach()
    return (weight[1:] - weight[:1], bias[1:] - bias[:1]) if len(weight) == 2 else (weight, bias)


def write_modules(model: AnswerSelectionModel, folder: Path) -> None:
    """Write all but the tokenizer; the head must be one of linear, sigmoid and fc, the pooling class or mean."""
    model.encoder.save_pretrained(folder)
    layers = _dense_layers(model.head)
    folders = ["", "1_Pooling", *(f"{number}_Dense" for number in range(2, 2 + len(layers)))]
    _write_json(folder / ENCODER_SETTINGS, encoder_settings(model))
    _write_json(folder / SETTINGS, library_settings())
    _write_json(folder / MODULES, _modules(folders))
    _write_json(folder / folders[1] / "config.json", _pooling(model))
    for number, (name, layer) in enumerate(zip(folders[2:], layers, strict=True), start=1):
        _write_dense(folder / name, layer, SCORES if number == len(layers) else VECTOR)


def _dense_layers(head: Any) -> list[Layer]:  # noqa: ANN401 - heads differ in their parts
    if not hasattr(head, "classifier"):
        return [(*folded(head.output), IDENTITY)]
    hidden = head.classifier.hidden
    return [(hidden.weight.detach(), hidden.bias.detach(), RELU), (*folded(head.classifier.output), IDENTITY)]


def encoder_settings(model: AnswerSelectionModel) -> dict[str, Any]:
    """Say how the library is to run the encoder."""
    return {
        "transformer_task": "feature-extraction",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        "module_output_name": "token_embeddings",
        # The pooling layer of BERT's own is not among the weights; without this the library would draw one.
        "model_kwargs": pooler_options(model.encoder.config, pooler=False),
    }


def library_settings() -> dict[str, Any]:
    """Say that the folder is a cross-encoder with sigmoid scores."""
    return {
        "model_type": MODEL_TYPE,
        "activation_fn": SIGMOID,
        "prompts": {},
        "default_prompt_name": None,
        "requirements": {"sentence-transformers": ">=5.4"},
    }


def _modules(folders: Sequence[str]) -> list[dict[str, Any]]:
    classes = [*CLASSES, *CLASSES[2:] * (len(folders) - len(CLASSES))]
    return [
        {"idx": number, "name": str(number), "path": path, "type": kind}
        for number, (path, kind) in enumerate(zip(folders, classes, strict=True))
    ]


def _pooling(model: AnswerSelectionModel) -> dict[str, Any]:
    own = {"mean": "mean", "class": "cls" if model.config.class_position == "first" else "lasttoken"}
    # Switches instead of the newer `pooling_mode`: every release, and other readers of the format, know them.
    switches = {switch: mode == own[model.config.pooling] for mode, switch in POOLINGS.items()}
    return {"word_embedding_dimension": model.encoder.config.hidden_size, **switches}


def _write_dense(folder: Path, layer: Layer, output_name: str) -> None:
    weight, bias, activation = layer
    settings = {
        "in_features": weight.shape[1],
        "out_features": weight.shape[0],
        "bias": True,
        "activation_function": activation,
        "module_input_name": VECTOR,
        "module_output_name": output_name,
    }
    _write_json(folder / "config.json", settings)
    save_file({"linear.weight": weight.contiguous(), "linear.bias": bias.contiguous()}, folder / WEIGHTS)


def _write_json(path: Path, value: Mapping[str, Any] | Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
