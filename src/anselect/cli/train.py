"""`anselect train`: a recipe in, a run folder out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_json, print_note, print_rows, print_table
from anselect.config import Recipe, list_recipes, load_recipe
from anselect.errors import MissingExtraError, UsageError

RUNS = Path("runs")


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name, or a TOML file.", show_default=False)] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change one key of the recipe.", metavar="SECTION.KEY=VALUE")
    ] = None,
    train_file: Annotated[str, typer.Option("--train", help="Train on this file.", metavar="FILE")] = "",
    dev_file: Annotated[str, typer.Option("--dev", help="Choose the best epoch on this file.", metavar="FILE")] = "",
    test_file: Annotated[str, typer.Option("--test", help="Measure once, at the end.", metavar="FILE")] = "",
    data: Annotated[str, typer.Option(help="Another data set of the catalogue.", metavar="NAME")] = "",
    output: Annotated[Path | None, typer.Option(help="The run's folder; runs/… by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Show all recipes and exit.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Show what would be trained, and an estimate.")] = False,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Train a recipe; the same command again goes on where it was interrupted.

    \b
    Examples:
      anselect train --list
      anselect train minilm-linear
      anselect train bas-base-rnn-uncased --set model.encoder=all-MiniLM-L6-v2 --data trecqa
      anselect train minilm-linear --train my-train.tsv --dev my-dev.tsv
    """
    if list_all:
        _list_recipes(output_format)
        return
    if not recipe:
        raise UsageError("expected a recipe, got none: 'anselect train --list' shows them")
    files = {"data.train": train_file, "data.dev": dev_file, "data.test": test_file, "data.name": data}
    overrides = [f"{key}={_quoted(value)}" for key, value in files.items() if value]
    resolved = load_recipe(recipe, [*(settings or []), *overrides])
    if dry_run:
        _show_plan(resolved, data_dir, output_format)
    else:
        _train(resolved, output or RUNS / _run_name(resolved), data_dir, output_format)


def _train(recipe: Recipe, output: Path, data_dir: Path | None, output_format: OutputFormat) -> None:
    try:
        from anselect.cli.train_progress import ProgressBar
        from anselect.training.train import train as train_recipe
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    metrics = train_recipe(recipe, output, data_dir=data_dir, callbacks=[ProgressBar()])
    if os.environ.get("RANK", "0") != "0":
        return  # of several processes the first speaks
    print_note(f"run: {output}")
    if output_format is OutputFormat.json:
        print_json(metrics)
        return
    rows = [
        {"split": split, "protocol": protocol, **values}
        for split in ("dev", "test")
        for protocol, values in metrics.get(split, {}).items()
    ]
    print_rows(rows, ["split", "protocol", "MAP", "MRR", "P@1"], output_format)


def _show_plan(recipe: Recipe, data_dir: Path | None, output_format: OutputFormat) -> None:
    try:
        from anselect.training.plan import plan_training
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    plan = plan_training(recipe, data_dir=data_dir)
    if output_format is OutputFormat.table:
        typer.echo(plan["recipe_toml"])
        print_table([[key, str(value)] for key, value in plan.items() if key != "recipe_toml"], ["plan", ""])
    else:
        print_json(plan)


def _list_recipes(output_format: OutputFormat) -> None:
    from anselect.evaluation.published import published_pair

    rows: list[dict[str, Any]] = []
    for name in list_recipes():
        recipe = load_recipe(name)
        published = published_pair(recipe.paper.key, recipe.paper.system, recipe.data.name)
        rows.append(
            {
                "recipe": name,
                "table": recipe.paper.table or "our own",
                "description": recipe.description,
                "data": recipe.data.name,
                "published MAP": published[0] if published else None,
                "published MRR": published[1] if published else None,
            }
        )
    print_rows(rows, ["recipe", "table", "data", "published MAP", "published MRR", "description"], output_format)


def _run_name(recipe: Recipe) -> str:
    data = Path(recipe.data.train).stem if recipe.data.train else recipe.data.name
    encoder = recipe.model.encoder.rstrip("/").rpartition("/")[2]
    return f"{recipe.name}-{encoder}-{data}-seed{recipe.training.seed}"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
