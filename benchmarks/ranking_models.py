"""A trained run in, the folders that the other sides load out: the same weights in each of them."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anselect.text.onnx_session import import_onnxruntime
from benchmarks.ranking_sides import OURS, THEIRS

INPUTS = ("ids", "mask", "segments")
OPSET = 17


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how much arithmetic a pair takes."""

    layers: int
    width: int
    inner: int
    """Width between the two products of a feed-forward part."""
    max_tokens: int

    def operations(self, tokens: int) -> int:
        """Return additions and multiplications for one pair of so many tokens, matrix products only.

        >>> Shape(layers=1, width=2, inner=8, max_tokens=512).operations(3)
        360
        """
        products = 2 * tokens * (4 * self.width**2 + 2 * self.width * self.inner)
        return self.layers * (products + 4 * tokens**2 * self.width)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The folders of all sides, by side."""

    folders: dict[str, str]
    shape: Shape
    tokenizer: Path
    """A tokenizer.json that cuts pairs to the model's limit."""
    failures: dict[str, str]
    """Sides that the model cannot be written for, and why."""


def prepare_models(sides: Sequence[str], run: Path | None, engine: Path | None, folder: Path) -> Prepared:
    """Write what each side loads; without a run the engine's own weights, read back into 32 bits."""
    from anselect.training.engine_export_source import load_source

    logging.getLogger().setLevel(logging.ERROR)  # the quantizer advises at length
    model = _plain(_read_back(engine, folder / "weights") if run is None else run, folder / "plain")
    source = load_source(model)
    folders = {side: str(folder / side) for side in sides} | {OURS: "" if engine is None else str(engine)}
    plain, rounded = folder / "onnxruntime_fp32", folder / "onnxruntime_int8"
    folders |= {side: str(plain) for side in sides if side == "openvino_fp32"}
    for place in (plain, rounded):
        place.mkdir(parents=True, exist_ok=True)
        _write_tokenizer(source, place / "tokenizer.json")
    failures = {} if THEIRS not in sides else _export_theirs(model, source, folder / THEIRS)
    if {str(plain), str(rounded)} & set(folders.values()):
        _trace(source, plain / "model.onnx")
    if str(rounded) in folders.values():
        _round(plain / "model.onnx", rounded / "model.onnx")
    return Prepared(folders, _shape(source), plain / "tokenizer.json", failures)


def _export_theirs(model: Path, source: Any, folder: Path) -> dict[str, str]:  # noqa: ANN401 - a Source
    """Write the folder for sentence-transformers; return why it has none, by side."""
    shutil.rmtree(folder, ignore_errors=True)
    if getattr(source.network.model.config, "head", "") == "match":
        from anselect.modeling.rankers import CrossEncoderRanker
        from benchmarks.match_module import write_match_folder

        write_match_folder(CrossEncoderRanker(source.network.model, source.tokenizer), folder)
        return {}
    command = [sys.executable, "-m", "anselect", "export", str(model), str(folder), "--as", "sentence-transformers"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return {} if done.returncode == 0 else {THEIRS: (done.stderr.strip().splitlines() or ["no message"])[-1]}


def _read_back(engine: Path | None, folder: Path) -> Path:
    from anselect.engine.folder import BUNDLED
    from anselect.training.engine_import import load_start

    shutil.rmtree(folder, ignore_errors=True)
    load_start(str(engine or BUNDLED)).save(folder)
    return folder


def _plain(model: Path, folder: Path) -> Path:
    """Write the model as others can run it: every pair through all layers, both sides in sight of each other."""
    from anselect.modeling.checkpoint import model_folder
    from anselect.modeling.rankers import load_ranker

    ranker: Any = load_ranker(model_folder(model))
    ranker.model.remove_exit()
    ranker.model.config.question_layers = 0
    shutil.rmtree(folder, ignore_errors=True)
    ranker.save(folder)
    return folder


def _write_tokenizer(source: Any, path: Path) -> None:  # noqa: ANN401 - a Source, whose module imports torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(source.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.enable_truncation(source.max_tokens, strategy="longest_first")
    tokenizer.save(str(path))


def _trace(source: Any, path: Path) -> None:  # noqa: ANN401 - a Source
    """Write the graph that torch traces, with a mask for padding: what a plain script runs."""
    import torch

    from anselect.modeling.encoders import quiet
    from anselect.modeling.heads import one_logit

    model, specials = source.network.model, (source.tokenizer.cls_token_id, source.tokenizer.sep_token_id)
    reads_sides = getattr(model.config, "head", "") == "match"

    class Padded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
            if reads_sides:
                words = mask.bool() & (ids != specials[0]) & (ids != specials[1])
                inputs |= {"question_mask": words & (segments == 0), "candidate_mask": words & (segments == 1)}
            return one_logit(self.model(**inputs).logits)

    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11]] * 2)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    axes = {name: {0: "rows", 1: "tokens"} for name in INPUTS} | {"logits": {0: "rows"}}
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns of every shape that Python compares
        model.set_attn_implementation("eager")
        torch.onnx.export(
            Padded().eval(),
            (ids, mask, torch.zeros_like(ids)),
            path,
            input_names=list(INPUTS),
            output_names=["logits"],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )


def _round(plain: Path, rounded: Path) -> None:
    """Quantise dynamically, one scale per column; 7 bits, as without VNNI two products must fit 16 bits."""
    import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(plain, rounded, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)


def _shape(source: Any) -> Shape:  # noqa: ANN401 - a Source, whose module imports torch
    config = source.network.model.config
    config = getattr(config, "encoder_config", config)
    return Shape(config.num_hidden_layers, config.hidden_size, config.intermediate_size, source.max_tokens)


def engine_facts(engine: Path | None) -> dict[str, Any]:
    """Return what tells one engine from another; raise SystemExit where there is no trained one to measure."""
    import anselect

    selector = anselect.load(engine)
    if selector.description.startswith("lexical"):
        raise SystemExit("there is no bundled model: give --engine FOLDER, as `anselect export` writes it")
    facts: dict[str, Any] = {"description": selector.description}
    if engine is not None:
        manifest = json.loads((engine / "manifest.json").read_text(encoding="utf-8"))
        facts |= {"sha256": manifest["sha256"]["model.onnx"], "precision": manifest["precision"]}
    return facts
