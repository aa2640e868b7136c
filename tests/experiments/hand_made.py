"""Small WikiQA files, and run folders written by hand: what `reproduce` and the results page read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from anselect.config import Recipe, recipe_to_toml
from anselect.data.files import file_sha256
from anselect.data.locate import read_split
from anselect.data.protocols import default_protocol, protocols_for
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.trec_files import write_run
from anselect.records import Question

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def write_wikiqa(folder: Path, sizes: Mapping[str, int]) -> Path:
    """Write WikiQA-train/dev/test.tsv: "bell" answers who, "rome" answers where; one right candidate of three."""
    place = folder / "wikiqa"
    place.mkdir(parents=True)
    for split, size in sizes.items():
        lines = [HEADER]
        for number in range(size):
            asked, right, wrong = (("who", "bell", "rome"), ("where", "rome", "bell"))[number % 2]
            thing = ("radio", "lamp", "book", "ship", "clock")[number % 5]
            texts = [(f"the {thing} is {wrong}", 0), (f"{right} made the {thing}", 1), (f"a red {thing}", 0)]
            shift = number % 3
            for at, (text, label) in enumerate(texts[shift:] + texts[:shift]):
                question = f"Q{number}\t{asked} made the {thing}\tD{number}\tThing"
                lines.append(f"{question}\tD{number}-{at}\t{text}\t{label}\n")
        (place / f"WikiQA-{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def ranks_to_scores(questions: Sequence[Question], ranks: Sequence[int]) -> list[list[float]]:
    """Give each question's right candidate the rank that is asked for; rank 0 ties all three."""
    scores = []
    for question, rank in zip(questions, ranks, strict=True):
        wrong = iter([0.9, 0.5] if rank == 3 else [0.9, 0.1] if rank == 2 else [0.5, 0.1])
        right = {0: 0.5, 1: 0.95, 2: 0.7, 3: 0.2}[rank]
        own = [right if candidate.is_correct else next(wrong) for candidate in question.candidates]
        scores.append([0.5] * len(own) if rank == 0 else own)
    return scores


def write_finished_run(folder: Path, recipe: Recipe, data_dir: Path, ranks: Sequence[int]) -> None:
    """Write what a finished training leaves, but for the model; `ranks` are those of the right test candidates."""
    folder.mkdir(parents=True)
    files = {f"wikiqa/{path.name}": file_sha256(path) for path in sorted((data_dir / "wikiqa").iterdir())}
    (folder / "recipe.toml").write_text(recipe_to_toml(recipe), encoding="utf-8")
    (folder / "environment.json").write_text(json.dumps({"python": "3.11.0", "data_files": files}))
    metrics: dict[str, object] = {"recipe": recipe.name, "seed": recipe.training.seed, "data_files": files}
    metrics["protocol"] = default_protocol("wikiqa").name
    for split in ("dev", "test"):
        questions = read_split("wikiqa", split, data_dir=data_dir)
        scores = ranks_to_scores(questions, ranks if split == "test" else [1] * len(questions))
        write_run(folder / f"{split}.trec", questions, scores, tag="t", provenance={"split": split})
        metrics[split] = {
            protocol.name: {
                name: value.value
                for name, value in evaluate_scores(questions, scores, protocol=protocol).measures.items()
            }
            for protocol in protocols_for("wikiqa")
            if not protocol.warning
        }
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
