"""A cross-encoder of any family in, the bytes of an ONNX model in 32 bits out, as torch traces it."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import torch

from anselect.engine.folder import MODEL
from anselect.engine.session import OUTPUT
from anselect.modeling.encoders import quiet
from anselect.training.engine_export_graph import OPSET
from anselect.training.engine_export_source import Source

INPUTS = ("ids", "segments", "question_mask", "candidate_mask")


def trace_network(source: Source) -> bytes:
    """Trace the network on a pair of made-up tokens; the number of rows and of tokens stays open."""
    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11]] * 2) % int(source.tokenizer.vocab_size)
    question = torch.tensor([[False, True, True, False, False, False, False]] * 2)
    candidate = torch.tensor([[False, False, False, False, True, True, False]] * 2)
    sample = (ids, candidate.long(), question, candidate)
    attention = source.network.model.config._attn_implementation
    with quiet():  # families that know one implementation only say so at length
        source.network.model.set_attn_implementation("eager")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / MODEL
        # The tracer warns of every shape that the library compares in Python, and of its own age.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            source.network,
            sample,
            file,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in INPUTS} | {OUTPUT: {0: "rows"}},
            opset_version=min(OPSET, 17),
            dynamo=False,
        )
        content = file.read_bytes()
    with quiet():
        source.network.model.set_attn_implementation(attention)
    return content
