"""A tiny BERT with its own WordPiece tokenizer, and questions that it can learn in seconds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from anselect.modeling.rankers import CrossEncoderRanker
from anselect.records import Candidate, Question

WORDS = [
    "who",
    "what",
    "where",
    "made",
    "is",
    "the",
    "a",
    "radio",
    "lamp",
    "book",
    "ship",
    "clock",
    "bell",
    "rome",
    "red",
    "old",
]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def save_tiny_bert(folder: Path, *, dropout: float = 0.1) -> str:
    """Write a BERT of width 32 with two layers; return its folder's name."""
    torch.manual_seed(0)
    vocabulary = {word: number for number, word in enumerate(SPECIALS + WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    BertModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return str(folder)


def learnable_questions(count: int, *, seed: int = 0) -> list[Question]:
    """Make questions whose right candidates hold "bell" for "who" and "rome" for "where"."""
    chance = random.Random(seed)
    questions = []
    for number in range(count):
        asked, answer = chance.choice([("who", "bell"), ("where", "rome")])
        wrong = {"bell": "rome", "rome": "bell"}[answer]
        thing = chance.choice(["radio", "lamp", "book", "ship", "clock"])
        texts = [(f"the {thing} is {wrong}", 0), (f"{answer} made the {thing}", 1), (f"a red {thing}", 0)]
        texts += [(f"the old {thing} is {wrong} the {thing}", 0)] * (number % 3)
        chance.shuffle(texts)
        candidates = tuple(Candidate(f"c{place}", text, label) for place, (text, label) in enumerate(texts))
        questions.append(Question(f"q{number}", f"{asked} made the {thing}", candidates))
    return questions


def add_exit(ranker: CrossEncoderRanker, questions: Sequence[Question]) -> None:
    """Let a quarter to three quarters of the questions' candidates leave behind the first layer."""
    ranker.model.add_exit(1)
    ranker.model.config.exit_below = math.inf
    scores = [score for row in ranker.score(list(questions)).scores for score in row]
    guesses = sorted(math.log(score / (1 - score)) for score in scores)
    gap, place = max((guesses[i + 1] - guesses[i], i) for i in range(len(guesses) // 4, 3 * len(guesses) // 4))
    assert gap > 0
    ranker.model.config.exit_below = (guesses[place] + guesses[place + 1]) / 2
