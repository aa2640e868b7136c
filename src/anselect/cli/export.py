"""`anselect export`: a trained run in, a folder that other rerankers load out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.output import print_note
from anselect.errors import MissingExtraError, MissingFileError, UsageError

SAMPLES = [
    ("Who invented the telephone?", "Alexander Graham Bell invented it in 1876."),
    ("Who invented the telephone?", "It rings."),
    ("how tall is mount everest", "Mount Everest rises 8,849 metres above the level of the sea."),
    ("what does dna stand for", "DNA is short for deoxyribonucleic acid, the molecule that carries genes."),
]


class ExportForm(StrEnum):
    """What the folder is to be."""

    sentence_transformers = "sentence-transformers"


def export(
    model: Annotated[Path, typer.Argument(help="A trained run's or model's folder.")],
    folder: Annotated[Path, typer.Argument(help="The new folder.", metavar="DIR")],
    form: Annotated[ExportForm, typer.Option("--as", help="What to write.")] = ExportForm.sentence_transformers,
) -> None:
    """Write a one-logit Hugging Face checkpoint that sentence-transformers and other rerankers load.

    \b
    Example:
      anselect export runs/minilm-linear-all-MiniLM-L6-v2-wikiqa-seed0 reranker --as sentence-transformers
    """
    if not model.is_dir():
        raise MissingFileError(f"{model}: no such run or model folder")
    try:
        from anselect.modeling.export import export_classifier
        from anselect.modeling.rankers import CrossEncoderRanker, load_ranker
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    ranker = load_ranker(model / "model" if (model / "model").is_dir() else model)
    if not isinstance(ranker, CrossEncoderRanker):
        raise UsageError(f"{model}: expected a cross-encoder, got a {type(ranker).__name__}")
    difference = export_classifier(ranker, folder, samples=SAMPLES)
    highlight = getattr(ranker.model.config, "highlight", None)
    if highlight:
        print_note(f"the model expects highlighted candidates ('{highlight}'): other rerankers will not highlight them")
    print_note(f"{folder}: scores differ by at most {difference:.1e} from the model's own on {len(SAMPLES)} pairs")
