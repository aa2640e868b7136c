"""A trained cross-encoder in, an engine folder out, measured against the original before it is kept."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from anselect.data.protocols import Protocol, default_protocol
from anselect.engine.batching import Batch, fit_pair, make_batches
from anselect.engine.folder import MODEL, TOKENIZER, Manifest, write_engine
from anselect.engine.ranker import EngineRanker, load_engine
from anselect.engine.scores import to_scores
from anselect.engine.tokens import TextTokenizer
from anselect.errors import AnselectError, MissingExtraError, UsageError
from anselect.evaluation.labelled_data import read_labelled_questions
from anselect.records import Question
from anselect.text.steps import TextSteps
from anselect.training.engine_export_bert import build_bert
from anselect.training.engine_export_drift import Drift, largest_difference, measure_drift
from anselect.training.engine_export_rounding import ChannelLimits
from anselect.training.engine_export_source import Source
from anselect.training.engine_export_torch import trace_network
from anselect.training.prepare import TRAIN_SPLITS

PRECISIONS: Final = ("int8", "fp32")
MAX_DRIFT: Final = 0.003
LARGEST_DIFFERENCE: Final = 1e-4
"""How far scores in 32 bits may lie from the original's."""
RANGE_PAIRS: Final = 1000
"""How many pairs, evenly spread, the ranges are measured on."""
SAMPLES: Final = (
    ("Who invented the telephone?", "Alexander Graham Bell invented it in 1876."),
    ("Who invented the telephone?", "It rings."),
    ("how tall is mount everest", "Mount Everest rises 8,849 metres above the level of the sea."),
    ("what does dna stand for", "DNA is short for deoxyribonucleic acid, the molecule that carries genes."),
)
"""What an export in 32 bits is compared on where no data are given."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Labelled questions for an export."""

    data: str
    ranges: Sequence[Question]
    """What the ranges of 8-bit products are measured on."""
    gate: Sequence[Question]
    """What the exported model is compared on."""
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export gave."""

    size: int
    """Bytes of the folder's files."""
    precision: str
    drift: Drift | None
    """None where no data were given."""
    largest_difference: float


def read_calibration(data: str, *, data_dir: Path | None = None) -> Calibration:
    """Read a data set (training split for the ranges, dev for the gate) or a file (every other question for each)."""
    found = read_labelled_questions(data, TRAIN_SPLITS.get(data, "train"), data_dir=data_dir)
    protocol = default_protocol(found.name)
    if found.name is None:
        return Calibration(Path(data).name, found.questions[::2], found.questions[1::2], protocol)
    gate = read_labelled_questions(data, "dev", data_dir=data_dir).questions
    return Calibration(f"{data} dev", found.questions, gate, protocol)


def export_engine(
    source: Source,
    folder: Path,
    *,
    precision: str = "int8",
    calibration: Calibration | None = None,
    max_drift: float = MAX_DRIFT,
) -> ExportReport:
    """Write an engine folder if it ranks as the original does, and nothing otherwise.

    Raises UsageError for 8 bits without calibration or for a model that has no 8-bit form, AnselectError if MAP falls
    by more than `max_drift` or scores in 32 bits differ by more than 0.0001.
    """
    _check(source, precision, calibration)
    with tempfile.TemporaryDirectory() as place:
        trial = Path(place) / "engine"
        manifest = _manifest(source, precision)
        files = {TOKENIZER: _tokenizer_file(source), MODEL: b""}
        write_engine(trial, files, manifest)
        files[MODEL] = _model_file(source, precision, calibration, TextTokenizer(trial / TOKENIZER, manifest))
        write_engine(trial, files, manifest)
        drift, difference = _compare(source, load_engine(trial), calibration)
    if drift is not None:
        drift.require(max_drift)
        manifest = replace(manifest, drift=asdict(drift))
    if precision == "fp32" and not difference <= LARGEST_DIFFERENCE:
        raise AnselectError(f"scores differ by {difference:.2g} from the original's: nothing was written to {folder}")
    write_engine(folder, files, manifest)
    return ExportReport(sum(path.stat().st_size for path in folder.iterdir()), precision, drift, difference)


def _check(source: Source, precision: str, calibration: Calibration | None) -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("train", "onnx") from error
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision '{precision}': choose from {', '.join(PRECISIONS)}")
    if precision == "int8" and calibration is None:
        raise UsageError("expected questions to measure 8-bit ranges on: give --data NAME or --calibration FILE")
    if precision == "int8" and source.bert_parts() is None:
        heads = "a linear, sigmoid or fc head, or match with the mean of all tokens"
        raise UsageError(f"{source.name}: 8 bits are for BERT with {heads}: use --precision fp32")


def _manifest(source: Source, precision: str) -> Manifest:
    tokenizer: Any = source.tokenizer
    about = ", ".join(
        [precision]
        + ([str(source.trained["recipe"])] if "recipe" in source.trained else [])
        + ([f"dev MAP {source.trained['dev_map']:.4f}"] if "dev_map" in source.trained else [])
    )
    return Manifest(
        description=f"engine {source.name} ({about})",
        source=source.name,
        precision=precision,
        max_tokens=source.max_tokens,
        unknown_token=tokenizer.unk_token_id,
        reserved_tokens=tuple(sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})),
        text_steps=source.text_steps,
    )


def _tokenizer_file(source: Source) -> bytes:
    backend: Any = source.tokenizer.backend_tokenizer
    content = json.loads(backend.to_str())
    content["padding"] = content["truncation"] = None
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _model_file(source: Source, precision: str, calibration: Calibration | None, tokenizer: TextTokenizer) -> bytes:
    parts = source.bert_parts()
    if parts is None:
        return trace_network(source)
    if precision == "fp32" or calibration is None:
        return build_bert(parts, None)
    pairs = _pairs(source, calibration.ranges)
    sample = pairs[:: max(1, len(pairs) // RANGE_PAIRS)]
    return build_bert(parts, measure_limits(source, tokenizer, sample))


def measure_limits(source: Source, tokenizer: TextTokenizer, pairs: Sequence[Pair]) -> dict[str, ChannelLimits]:
    """Return what inputs each product meets, channel by channel and together, by the name of its module."""
    limits: dict[str, ChannelLimits] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def look(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            seen = inputs[0].detach().reshape(-1, inputs[0].shape[-1]).numpy()
            found = ChannelLimits(seen.min(axis=0), seen.max(axis=0), seen.T @ seen)
            limits[name] = limits[name].joined(found) if name in limits else found

        return look

    modules = [(name, module) for name, module in source.network.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(watch(name)) for name, module in modules]
    source.logits(_batches(source, tokenizer, pairs), len(pairs))
    for hook in hooks:
        hook.remove()
    return limits


def _compare(source: Source, engine: EngineRanker, calibration: Calibration | None) -> tuple[Drift | None, float]:
    questions = [] if calibration is None else list(TextSteps(**source.text_steps).apply(calibration.gate))
    pairs = list(SAMPLES) if calibration is None else _texts(questions)
    batches = _batches(source, engine.tokenizer, pairs)
    original = to_scores(source.logits(batches, len(pairs)))
    exported = to_scores(engine.logits(pairs))
    if calibration is None:
        return None, largest_difference([original.tolist()], [exported.tolist()])
    dealt = [_deal(questions, scores) for scores in (original, exported)]
    drift = measure_drift(questions, *dealt, data=calibration.data, protocol=calibration.protocol)
    return drift, drift.largest_difference


def _batches(source: Source, tokenizer: TextTokenizer, pairs: Sequence[Pair]) -> list[Batch]:
    """Tokenize pairs as the engine does."""
    room = source.max_tokens - tokenizer.template.specials
    questions = tokenizer.encode_ends([pair[0] for pair in pairs])
    candidates = tokenizer.encode([pair[1] for pair in pairs], wanted=room)
    rows = [
        fit_pair(place, question, candidate, room, windows=False)[0][0]
        for place, (question, candidate) in enumerate(zip(questions, candidates, strict=True))
    ]
    return list(make_batches(rows, tokenizer.template, threads=1))


def _pairs(source: Source, questions: Sequence[Question]) -> list[Pair]:
    return _texts(list(TextSteps(**source.text_steps).apply(questions)))


def _texts(questions: Sequence[Question]) -> list[Pair]:
    return [(question.text, candidate.text) for question in questions for candidate in question.candidates]


def _deal(questions: Sequence[Question], scores: NDArray[np.float64]) -> list[list[float]]:
    flat = iter(scores.tolist())
    return [[next(flat) for _ in question.candidates] for question in questions]
