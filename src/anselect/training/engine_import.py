"""An engine folder in 8 bits in, a model that can be trained on out: its weights as the engine reads them.

What ships is such a folder, so that anybody can go on from it with data of their own (`model.start = "bundled"`).
The graph is ours (`engine_export_bert.py`): its products and norms stand in a known order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from anselect.engine.folder import MODEL, TOKENIZER, is_engine_folder, model_path, read_manifest
from anselect.engine.session import MEMORY
from anselect.errors import MissingExtraError, UsageError
from anselect.modeling.checkpoint import model_folder
from anselect.modeling.cross_encoder import AnswerSelectionConfig, AnswerSelectionModel
from anselect.modeling.rankers import CrossEncoderRanker, TrainedRanker, load_ranker
from anselect.text.steps import TextSteps
from anselect.training.engine_export_rounding import Rounding

SPECIALS: Final = {
    "unk_token": "[UNK]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
PRODUCT: Final = "MatMulIntegerToFloat"
PRODUCTS_PER_LAYER: Final = 4
ATTENTION: Final = "sdpa"
ATTENTION_NODE: Final = "MultiHeadAttention"
NORM: Final = "LayerNormalization"

Floats = NDArray[np.float32]


def load_start(name: str) -> TrainedRanker:
    """Load a run or model to go on from; `bundled` is the one that ships, and any engine folder in 8 bits will do."""
    folder = model_path(name)
    return read_engine_model(folder) if is_engine_folder(folder) else load_ranker(model_folder(folder))


def read_engine_model(folder: Path) -> CrossEncoderRanker:
    """Read an engine folder back as a cross-encoder in 32 bits.

    A first guess, and layers that read questions alone, come along. Raises UsageError for an engine in 32 bits,
    DataError for a damaged folder.
    """
    manifest = read_manifest(folder)
    if manifest.precision != "int8":
        raise UsageError(f"{folder}: expected an engine in 8 bits to go on from, got {manifest.precision}: use its run")
    graph = _Graph.read(folder / MODEL)
    weights = dict(_encoder_weights(graph))
    lowered = graph.lowered()
    config = _encoder_config(graph, weights, manifest.max_tokens)
    encoder = BertModel(config, add_pooling_layer=False)  # type: ignore[no-untyped-call]
    encoder.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    settings = AnswerSelectionConfig(  # type: ignore[call-arg]
        encoder_config=config,
        encoder_name=manifest.source,
        head="match" if graph.reads_sides else "sigmoid",
        pooling="mean",
        max_tokens=manifest.max_tokens,
        question_layers=graph.question_layers(),
        # With what it began is not known any more; what it became is read below.
        sides_apart=0.0 if lowered is None else 1.0,
        exit_layer=graph.layers_before("NonZero"),
        exit_below=graph.exit_below(),
        exit_tokens=graph.exit_tokens(),
        # A config hands its own choice down to its parts; without any, no mask would be applied.
        attn_implementation=ATTENTION,
    )
    model = AnswerSelectionModel(settings, encoder=encoder)
    if lowered is not None:
        model.cross_attention.set_values(lowered)
    for head, (weight, bias) in zip((model.head, getattr(model, "exit_head", None)), graph.heads(), strict=False):
        _set_head(head, weight, bias)
    model.config.text_steps = asdict(TextSteps(**manifest.text_steps))
    model.eval()  # type: ignore[no-untyped-call]
    return CrossEncoderRanker(model, _tokenizer(folder / TOKENIZER))


@dataclass(frozen=True, slots=True)
class _Graph:
    nodes: list[Any]
    constants: Mapping[str, NDArray[Any]]
    reads_sides: bool

    @classmethod
    def read(cls, path: Path) -> _Graph:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError("train", "onnx") from error
        graph = onnx.load(str(path)).graph
        constants = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
        choice = next((node for node in graph.node if node.op_type == "If"), None)
        # Where questions are read alone, the branch that reads candidates has all the weights.
        nodes = graph.node if choice is None else _attribute(choice, "else_branch").g.node
        return cls(list(nodes), constants, any(each.name == "question_mask" for each in graph.input))

    def stored(self, kind: str) -> Iterator[list[NDArray[Any]]]:
        """Yield the stored inputs of each operator of a kind, in order."""
        for node in self.nodes:
            if node.op_type == kind:
                yield [self.constants[name] for name in node.input if name in self.constants]

    def products(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield (out, in) weight and bias of each 8-bit product, the parts of wide channels put together again."""
        maker = {node.output[0]: node for node in self.nodes}
        for node in self.nodes:
            if node.op_type != PRODUCT:
                continue
            rounded, step, scales, zero, bias = (self.constants[each] for each in node.input if each in self.constants)
            plan = Rounding(step, zero, np.array([], dtype=np.int64), np.array([], dtype=np.float32))
            if (reading := maker[node.input[0]]).op_type == "Concat":
                shifted = maker[maker[reading.input[1]].input[0]]
                channels = self.constants[maker[shifted.input[0]].input[1]]
                plan = replace(plan, channels=channels, shifts=self.constants[shifted.input[1]])
                bias = bias + plan.rests @ rounded[-len(channels) :] * scales
            yield (plan.gather(rounded) * scales).T, bias

    def heads(self) -> list[tuple[Floats, Floats]]:
        """Return weight and bias of the logit and, behind it, of the first guess where there is one.

        A logit is a product with a stored row, whose sum a stored number is added to; a guess is made first.
        """
        weights = [each[0] for each in self.stored("Mul") if each and each[0].ndim == 1 and each[0].size > 1]
        biases = [each[0] for each in self.stored("Add") if each and each[0].size == 1 and each[0].dtype == np.float32]
        return list(zip(weights, biases, strict=True))[::-1]

    def layers_before(self, kind: str) -> int:
        """Count the layers before the first operator of a kind; 0 where there is none."""
        kinds = [node.op_type for node in self.nodes]
        if kind not in kinds:
            return 0
        return kinds[: kinds.index(kind)].count(ATTENTION_NODE)

    def question_layers(self) -> int:
        """Return in how many layers questions are read alone: their states are keys, values and the last output."""
        split = next((node for node in self.nodes if node.op_type == "Split" and node.input[0] == MEMORY), None)
        return 0 if split is None else (len(split.output) - 1) // 2

    def lowered(self) -> Floats | None:
        """Return what is taken from attention between the sides (layers, heads); None where both are one text."""
        maker = {node.output[0]: node for node in self.nodes}
        biased = [node for node in self.nodes if node.op_type == ATTENTION_NODE and len(node.input) > 5]
        taken = [-self.constants[maker[node.input[5]].input[1]].ravel() for node in biased]
        return np.stack(taken) if taken else None

    def exit_below(self) -> float | None:
        """Return the guess below which rows leave."""
        return next((float(each[0].item()) for each in self.stored("GreaterOrEqual")), None)

    def exit_tokens(self) -> int:
        """Return how many tokens rows that leave have at most; 0 for any number."""
        return next((int(each[0].item()) for each in self.stored("Greater")), 0)


def _encoder_weights(graph: _Graph) -> Iterator[tuple[str, Floats]]:
    tables = [each[0] for each in graph.stored("Gather") if each and each[0].ndim == 2]
    rounded, scales, third = tables
    yield "embeddings.word_embeddings.weight", rounded.astype(np.float32) * scales
    sliced = [each[0] for each in graph.stored("Slice") if each and each[0].ndim == 2]
    # Where both sides have places of their own, the one segment that there is stands in the table of places.
    segments, places = (third, sliced[0]) if sliced else (np.zeros((2, third.shape[1]), dtype=np.float32), third)
    yield "embeddings.token_type_embeddings.weight", segments
    yield "embeddings.position_embeddings.weight", places
    norms = iter(list(graph.stored(NORM)))
    yield from zip(("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"), next(norms), strict=True)
    products = list(graph.products())
    for layer in range(len(products) // PRODUCTS_PER_LAYER):
        prefix = f"encoder.layer.{layer}."
        joined, attended, inner, outer = products[PRODUCTS_PER_LAYER * layer :][:PRODUCTS_PER_LAYER]
        for name, weight, bias in zip(("query", "key", "value"), *(np.split(each, 3) for each in joined), strict=True):
            yield f"{prefix}attention.self.{name}.weight", weight
            yield f"{prefix}attention.self.{name}.bias", bias
        for name, (weight, bias) in (
            ("attention.output.dense", attended),
            ("intermediate.dense", inner),
            ("output.dense", outer),
        ):
            yield f"{prefix}{name}.weight", weight
            yield f"{prefix}{name}.bias", bias
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            yield from zip((f"{prefix}{name}.weight", f"{prefix}{name}.bias"), next(norms), strict=True)


def _encoder_config(graph: _Graph, weights: Mapping[str, Floats], max_tokens: int) -> BertConfig:
    attention = next(node for node in graph.nodes if node.op_type == ATTENTION_NODE)
    norm = next(node for node in graph.nodes if node.op_type == NORM)
    vocabulary, width = weights["embeddings.word_embeddings.weight"].shape
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=sum(node.op_type == ATTENTION_NODE for node in graph.nodes),
        num_attention_heads=_attribute(attention, "num_heads").i,
        intermediate_size=len(weights["encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=max(max_tokens, len(weights["embeddings.position_embeddings.weight"])),
        layer_norm_eps=_attribute(norm, "epsilon").f,
        attn_implementation=ATTENTION,  # type: ignore[call-arg]
    )


def _attribute(node: Any, name: str) -> Any:  # noqa: ANN401 - ONNX's own records
    return next(each for each in node.attribute if each.name == name)


def _set_head(head: Any, weight: Floats, bias: Floats) -> None:  # noqa: ANN401 - a head with one linear layer
    output = head.output
    one = torch.tensor(weight).reshape(1, -1), torch.tensor(bias).reshape(1)
    with torch.no_grad():  # two logits share what one says: their difference counts
        for parameter, value in zip((output.weight, output.bias), one, strict=True):
            parameter.copy_(torch.cat([-value / 2, value / 2]) if len(parameter) == 2 else value)


def _tokenizer(path: Path) -> PreTrainedTokenizerFast:
    backend = Tokenizer.from_file(str(path))
    known = {name: token for name, token in SPECIALS.items() if backend.token_to_id(token) is not None}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_input_names=inputs, **known)  # type: ignore[no-untyped-call]
