"""A run's recipe and figures in, the model card (README.md beside the model) out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anselect.config import Recipe
from anselect.data.files import write_text
from anselect.training.run_folder import RunFolder


def write_model_card(run: RunFolder, recipe: Recipe, metrics: Mapping[str, Any]) -> None:
    """Write README.md into the model's folder."""
    with write_text(run.model / "README.md") as file:
        file.write(model_card(recipe, metrics))


def model_card(recipe: Recipe, metrics: Mapping[str, Any]) -> str:
    """Return the card: what the model is, what it was trained on, what it measured, under which licence."""
    trained = metrics["trained"]
    highlight = (
        "" if recipe.text.highlight == "none" else f" Candidates are highlighted first (`{recipe.text.highlight}`)."
    )
    lines = [
        "---",
        "license: other",
        "tags: [answer-selection, anselect]",
        "---",
        f"# {recipe.name}",
        "",
        f"{recipe.description or 'An answer-selection model.'}",
        "",
        f"A cross-encoder: `{recipe.model.encoder}` with the `{recipe.model.head}` head, for texts of up to "
        f"{recipe.model.max_tokens} tokens.{highlight}",
        f"Trained with loss `{recipe.training.loss}` on {metrics['train_questions']:,} questions "
        f"({metrics['train_pairs']:,} pairs) of `{recipe.data.name if not recipe.data.train else recipe.data.train}`, "
        f"seed {recipe.training.seed}; the weights are those of epoch {trained.get('epoch')}, the best on dev.",
        "",
        "| split | protocol | MAP | MRR | P@1 |",
        "|---|---|---|---|---|",
        *_figure_rows(metrics),
        "",
        "Measures are expected values over tied candidates. The test split was used once, for this table.",
        "",
        "## Use",
        "```python",
        "import anselect",
        "",
        'selector = anselect.load("path/to/this/folder")',
        "```",
        "",
        "## Licence",
        "The encoder's licence and that of the training data both bind: check them before passing the model on.",
        "",
        "## Files it was trained from",
        "",
        *(f"- `{name}` sha256 `{digest}`" for name, digest in metrics["data_files"].items()),
    ]
    return "\n".join(lines) + "\n"


def _figure_rows(metrics: Mapping[str, Any]) -> list[str]:
    return [
        f"| {split} | {protocol} | {values['MAP']:.4f} | {values['MRR']:.4f} | {values['P@1']:.4f} |"
        for split in ("dev", "test")
        for protocol, values in metrics.get(split, {}).items()
    ]
