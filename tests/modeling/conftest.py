"""Tiny models of the real classes, one per encoder family, with tokenizers built here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers

with warnings.catch_warnings():
    # The library's DeBERTa modules use torch.jit.script, which PyTorch calls deprecated when they are imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    import transformers.models.deberta.modeling_deberta
    import transformers.models.deberta_v2.modeling_deberta_v2  # noqa: F401
from transformers import (
    AutoModel,
    BertConfig,
    BertTokenizer,
    DebertaConfig,
    DebertaTokenizer,
    DebertaV2Config,
    DebertaV2Tokenizer,
    ElectraConfig,
    MPNetConfig,
    MPNetTokenizer,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaTokenizer,
    XLNetConfig,
    XLNetTokenizer,
)

SENTENCE = "who what is the telephone invented bell by in did it rings not 1876 of city paris france"
WORDS = ["a", "b", *SENTENCE.split()]
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 66,
}


@dataclass(frozen=True)
class Family:
    """An encoder family in small."""

    name: str
    config: PreTrainedConfig
    tokenizer: PreTrainedTokenizerBase


def word_pieces(specials: list[str]) -> dict[str, int]:
    letters = [f"##{chr(code)}" for code in range(ord("a"), ord("z") + 1)]
    return {piece: index for index, piece in enumerate(dict.fromkeys([*specials, *WORDS, *"[]sepcl", *letters]))}


def byte_pieces(specials: list[str]) -> dict[str, int]:
    pieces = [*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    return {piece: index for index, piece in enumerate(pieces)}


def unigram_pieces(specials: list[str]) -> list[tuple[str, float]]:
    words = [(f"▁{word}", -1.0) for word in dict.fromkeys(WORDS)]
    return [*((special, 0.0) for special in specials), ("▁", -3.0), *words, *((c, -5.0) for c in "<>/[]sepclSEPCL")]


def bert() -> Family:
    tokenizer = BertTokenizer(vocab=word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    # Wider start values than usual: a model this small learns faster from them.
    return Family("bert", BertConfig(vocab_size=len(tokenizer), initializer_range=0.1, **SIZES), tokenizer)


def electra() -> Family:
    tokenizer = BertTokenizer(vocab=word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    return Family("electra", ElectraConfig(vocab_size=len(tokenizer), embedding_size=32, **SIZES), tokenizer)


def mpnet() -> Family:
    tokenizer = MPNetTokenizer(vocab=word_pieces(["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]))
    return Family("mpnet", MPNetConfig(vocab_size=len(tokenizer), **SIZES), tokenizer)


def roberta() -> Family:
    tokenizer = RobertaTokenizer(vocab=byte_pieces(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), merges=[])
    return Family("roberta", RobertaConfig(vocab_size=len(tokenizer), type_vocab_size=1, **SIZES), tokenizer)


def deberta() -> Family:
    tokenizer = DebertaTokenizer(vocab=byte_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), merges=[])
    return Family("deberta", DebertaConfig(vocab_size=len(tokenizer), **SIZES), tokenizer)


def deberta_v2() -> Family:
    tokenizer = DebertaV2Tokenizer(vocab=unigram_pieces(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]), unk_id=3)
    return Family("deberta-v2", DebertaV2Config(vocab_size=len(tokenizer), **SIZES), tokenizer)


def xlnet() -> Family:
    specials = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    tokenizer = XLNetTokenizer(vocab=unigram_pieces(specials))
    return Family(
        "xlnet", XLNetConfig(vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=4, d_inner=64), tokenizer
    )


FAMILIES: dict[str, Callable[[], Family]] = {
    "bert": bert,
    "roberta": roberta,
    "xlnet": xlnet,
    "mpnet": mpnet,
    "electra": electra,
    "deberta": deberta,
    "deberta-v2": deberta_v2,
}


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny tensors gain nothing from threads, and on a busy machine threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    """Each encoder family in turn."""
    return FAMILIES[request.param]()


@pytest.fixture
def save_encoder(tmp_path: Path) -> Callable[[Family], str]:
    """Write a family's encoder, with seeded weights, and its tokenizer to a folder; return the folder's name."""

    def save(family: Family) -> str:
        torch.manual_seed(0)
        folder = tmp_path / family.name
        AutoModel.from_config(family.config).save_pretrained(folder)  # type: ignore[no-untyped-call]
        family.tokenizer.save_pretrained(folder)
        return str(folder)

    return save


@pytest.fixture
def bert_family() -> Family:
    return bert()


@pytest.fixture
def xlnet_family() -> Family:
    return xlnet()


@pytest.fixture
def bert_folder(save_encoder: Callable[[Family], str], bert_family: Family) -> str:
    """A folder with a tiny BERT and its tokenizer."""
    return save_encoder(bert_family)


@pytest.fixture(scope="session")
def families() -> dict[str, Callable[[], Family]]:
    """Builders of all families by name."""
    return FAMILIES
