"""Pairs a second in training: ours against sentence-transformers' CrossEncoderTrainer.

Same pairs (WikiQA train, questions with an answer), same weights (all-MiniLM-L6-v2), same batch size, one logit, same
optimizer; both sides take turns in one process, and each side's best round counts. Run it on a quiet machine:

    pip install datasets  # what sentence-transformers' trainer reads from
    python benchmarks/training.py [--pairs 1600] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from anselect.config import check_recipe
from anselect.data.locate import read_split
from anselect.modeling.encoders import locate_encoder
from anselect.records import Question
from anselect.text.steps import TextSteps
from anselect.training.batches import ShareSampler
from anselect.training.run_folder import RunFolder
from anselect.training.sampling import padded_share
from anselect.training.train import build_ranker, build_rows
from anselect.training.trainer import SelectionTrainer

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
BATCH_SIZE = 32


def read_pairs(wanted: int) -> list[Question]:
    """Take whole questions until there are enough pairs."""
    questions: list[Question] = []
    pairs = 0
    for question in read_split("wikiqa", "train"):
        if question.has_positive and pairs < wanted:
            questions.append(question)
            pairs += len(question.candidates)
    return questions


def train_ours(questions: Sequence[Question], folder: Path) -> tuple[float, float]:
    """Train one epoch; return seconds and the padded share."""
    recipe = check_recipe(
        {
            "name": "benchmark",
            "model": {"encoder": ENCODER, "head": "sigmoid", "max_tokens": 512},
            "training": {"epochs": 1, "batch_size": BATCH_SIZE, "learning_rate": 5e-5},
        },
        source="benchmark",
    )
    ranker = build_ranker(recipe, TextSteps())
    start = time.perf_counter()
    rows = build_rows(ranker, questions, recipe)
    trainer = SelectionTrainer(
        ranker.model,
        rows,
        recipe.training,
        RunFolder(folder),
        measure=lambda _: {"map": 0.0},
        save_best=lambda *_: None,
    )
    trainer.train()
    return time.perf_counter() - start, padded_share(ShareSampler(rows, recipe.training).batches(), rows.lengths)


def train_theirs(questions: Sequence[Question], folder: Path) -> float:
    """Train one epoch with the library's own trainer and its defaults; return seconds."""
    from datasets import Dataset
    from sentence_transformers.cross_encoder import (
        CrossEncoder,
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
        losses,
    )

    model = CrossEncoder(locate_encoder(ENCODER).location, num_labels=1, device="cpu")
    rows = [
        (question.text, found.text, float(found.label or 0)) for question in questions for found in question.candidates
    ]
    data = Dataset.from_dict(
        dict(zip(("question", "candidate", "label"), map(list, zip(*rows, strict=True)), strict=True))
    )
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=BATCH_SIZE,
        learning_rate=5e-5,
        warmup_steps=0.1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    start = time.perf_counter()
    CrossEncoderTrainer(model, arguments, train_dataset=data, loss=losses.BinaryCrossEntropyLoss(model)).train()
    return time.perf_counter() - start


def main() -> None:
    """Print pairs a second of both sides and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    questions = read_pairs(options.pairs)
    pairs = sum(len(question.candidates) for question in questions)
    ours, theirs, share = [], [], 0.0
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.rounds):
            seconds, share = train_ours(questions, Path(name) / f"ours-{number}")
            ours.append(seconds)
            theirs.append(train_theirs(questions, Path(name) / f"theirs-{number}"))
    result = {
        "pairs": pairs,
        "threads": torch.get_num_threads(),
        "ours_pairs_per_second": pairs / min(ours),
        "sentence_transformers_pairs_per_second": pairs / min(theirs),
        "ratio": min(theirs) / min(ours),
        "padded_share": share,
    }
    print(
        json.dumps(result, indent=2)
        if options.json
        else "\n".join(f"{key:40} {value}" for key, value in result.items())
    )


if __name__ == "__main__":
    main()
