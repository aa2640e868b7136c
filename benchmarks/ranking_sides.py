"""The sides of the ranking benchmark: a model's folder in, a function from questions with candidates to scores out.

Each is what its user would write. Heavy libraries are imported by the side that needs them, so that a cold start
counts each side's own imports only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Asked = tuple[str, list[str]]
"""A question and its candidates."""
Scorer = Callable[[Sequence[Asked]], list[float]]
"""Scores of all candidates, question after question."""
BATCH_SIZE = 32
"""Pairs in a batch of a plain script; what sentence-transformers takes by default."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way to score."""

    title: str
    load: Callable[[str, int], Scorer]
    """From a folder (empty for the bundled model) and a number of threads."""
    package: str
    """What has to be importable."""


def load_anselect(folder: str, _: int) -> Scorer:
    """Return what `anselect.load` ranks with; it takes the cores that the process may use."""
    import anselect

    selector = anselect.load(folder or None)

    def score(asked: Sequence[Asked]) -> list[float]:
        if len(asked) == 1:
            ranking = selector.rank(*asked[0])
            return [place.score for place in sorted(ranking, key=lambda place: place.index)]
        questions = [
            anselect.Question(
                str(number), text, tuple(anselect.Candidate(str(place), each) for place, each in enumerate(candidates))
            )
            for number, (text, candidates) in enumerate(asked)
        ]
        return [score for scores in selector.score_questions(questions).scores for score in scores]

    return score


def load_sentence_transformers(folder: str, _: int) -> Scorer:
    """Return `CrossEncoder.predict` with all its defaults."""
    from sentence_transformers import CrossEncoder

    # The head `match` is a module of ours (match_module.py), which the library asks to be trusted.
    model = CrossEncoder(folder, device="cpu", trust_remote_code=True)
    # A module of ours counts as one of several classes: a column instead of a row.
    return lambda asked: [float(score) for score in model.predict(_pairs(asked)).reshape(-1)]


def load_onnxruntime(folder: str, threads: int) -> Scorer:
    """Return a plain script on ONNX Runtime: sorted by length, padded, in batches of 32."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    path = str(Path(folder) / "model.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return _PlainScript(folder, lambda inputs: session.run(None, inputs)[0])


def load_openvino(folder: str, threads: int) -> Scorer:
    """Return the same plain script on OpenVINO, in 32 bits (its own default on a CPU without bfloat16)."""
    openvino: Any = importlib.import_module("openvino")  # no dependency of ours: type checkers do not find it
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(str(Path(folder) / "model.onnx"), "CPU", settings)
    return _PlainScript(folder, lambda inputs: model(inputs)[0])


SIDES = {
    "anselect": Side("anselect, int8", load_anselect, "anselect"),
    "sentence_transformers": Side("sentence-transformers, fp32", load_sentence_transformers, "sentence_transformers"),
    "onnxruntime_fp32": Side("ONNX Runtime sorted, fp32", load_onnxruntime, "onnxruntime"),
    "onnxruntime_int8": Side("ONNX Runtime sorted, dynamic int8", load_onnxruntime, "onnxruntime"),
    "openvino_fp32": Side("OpenVINO sorted, fp32", load_openvino, "openvino"),
}
OURS = "anselect"
THEIRS = "sentence_transformers"


class _PlainScript:
    """Tokenizes, sorts, pads and runs; the folder holds `tokenizer.json` with its limit."""

    def __init__(self, folder: str, run: Callable[[dict[str, Any]], Any]) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self._run = run

    def __call__(self, asked: Sequence[Asked]) -> list[float]:
        import numpy as np

        encodings = self._tokenizer.encode_batch(_pairs(asked))
        order = sorted(range(len(encodings)), key=lambda place: -len(encodings[place].ids))
        scores = np.empty(len(encodings))
        for start in range(0, len(order), BATCH_SIZE):
            places = order[start : start + BATCH_SIZE]
            logits = self._run(_padded([encodings[place] for place in places]))
            scores[places] = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
        return [float(score) for score in scores]


def _padded(encodings: Sequence[Any]) -> dict[str, Any]:
    import numpy as np

    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    inputs = {name: np.zeros(shape, dtype=np.int64) for name in ("ids", "mask", "segments")}
    for row, encoding in enumerate(encodings):
        count = len(encoding.ids)
        inputs["ids"][row, :count] = encoding.ids
        inputs["mask"][row, :count] = 1
        inputs["segments"][row, :count] = encoding.type_ids
    return inputs


def _pairs(asked: Sequence[Asked]) -> list[tuple[str, str]]:
    return [(question, candidate) for question, candidates in asked for candidate in candidates]
