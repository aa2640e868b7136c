"""Our head `match` as a module of sentence-transformers, so that the library runs the same weights as we do.

The library has no such module of its own; it loads this one from a folder that `write_match_folder` writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers.base.modules.module import Module

from anselect.modeling.encoders import masked_mean
from anselect.modeling.export_modules import CLASSES, ENCODER_SETTINGS, encoder_settings, library_settings
from anselect.modeling.heads import HeadSettings, MatchHead, one_logit
from anselect.modeling.module_chain import MODULES, SCORES, SETTINGS, WEIGHTS

FOLDER = "1_Match"


class MatchModule(Module):
    """Token vectors of pairs in, one logit each out."""

    def __init__(self, width: int, specials: list[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.width, self.specials = width, specials
        self.head = MatchHead(HeadSettings(width=width, dropout=0.0))
        self.register_buffer("known", torch.tensor(specials), persistent=False)

    def forward(self, features: dict[str, Any], **_: object) -> dict[str, Any]:
        """Add the logits to what the encoder put out."""
        hidden, mask = features["token_embeddings"], features["attention_mask"]
        words = mask.bool() & ~torch.isin(features["input_ids"], self.known)
        sides = [words & (features["token_type_ids"] == side) for side in (0, 1)]
        logits = self.head(hidden, masked_mean(hidden, mask), *sides)
        return {**features, SCORES: one_logit(logits).unsqueeze(-1)}

    def save(self, output_path: str, *_: object, **__: object) -> None:
        """Write settings and weights."""
        folder = Path(output_path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"width": self.width, "specials": self.specials}))
        save_file(self.head.state_dict(), folder / WEIGHTS)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", *_: object, **__: object) -> MatchModule:
        """Read what `save` wrote."""
        folder = Path(model_name_or_path) / subfolder
        module = cls(**json.loads((folder / "config.json").read_text()))
        module.head.load_state_dict(load_file(folder / WEIGHTS))
        return module


def write_match_folder(ranker: Any, folder: Path) -> None:  # noqa: ANN401 - a CrossEncoderRanker
    """Write a cross-encoder with the head `match` as a folder that the library loads, given `trust_remote_code`."""
    model, tokenizer = ranker.model, ranker.tokenizer
    model.encoder.save_pretrained(folder)
    tokenizer.model_max_length = model.config.max_tokens
    tokenizer.save_pretrained(folder)
    module = MatchModule(model.encoder.config.hidden_size, [tokenizer.cls_token_id, tokenizer.sep_token_id])
    module.head.load_state_dict(model.head.state_dict())
    module.save(str(folder / FOLDER))
    kinds = {"": CLASSES[0], FOLDER: f"{__name__}.{MatchModule.__name__}"}
    modules = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(kinds.items())]
    for name, value in (
        (ENCODER_SETTINGS, encoder_settings(model)),
        (SETTINGS, library_settings()),
        (MODULES, modules),
    ):
        (folder / name).write_text(json.dumps(value, indent=2))
