"""A table and the user's wishes in, the trainings that it needs out: rows of cells, a run folder each; runs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from anselect.config import Recipe, load_recipe
from anselect.data.catalogue import find_dataset
from anselect.errors import UsageError
from anselect.experiments.tables import Column, RowDefinition, TableDefinition

IMPORTANCE: Final = ("wikiqa", "trecqa", "semeval2016", "semeval2017", "semeval2015", "yahoocqa")
"""The order in which data sets are trained on: where time runs out, the first are complete."""
RESERVED: Final = ("data.name", "data.train", "data.dev", "data.test", "model.encoder", "training.seed", "protocol")
"""Keys that the table, --encoder, --data and --seeds decide."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks of a table."""

    encoder: str = ""
    """Takes the place of the paper's encoders; empty: the paper's own."""
    seeds: int = 1
    data: tuple[str, ...] = ()
    """Data sets to restrict the table to; empty: all."""
    systems: str = ""
    """Pattern that a row's system or recipe must match; empty: all."""
    settings: tuple[str, ...] = ()
    """`section.key=value`, for every recipe."""
    output: Path = Path("runs/reproduce")


@dataclass(frozen=True, slots=True)
class Cell:
    """One training: a recipe on a data set with a seed."""

    recipe: Recipe
    folder: Path

    @property
    def data(self) -> str:
        return self.recipe.data.name

    @property
    def seed(self) -> int:
        return self.recipe.training.seed


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table to be made."""

    label: str
    system: str
    """As published.toml calls it; its figures stand beside ours."""
    encoder: str
    cells: Mapping[str, tuple[Cell, ...]]
    """By data set; one per seed."""
    stands_for: tuple[str, ...] = ()
    """Systems whose training would be the very same with this encoder, so that one row shows them all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a table needs."""

    table: TableDefinition
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    request: Request

    @property
    def cells(self) -> list[Cell]:
        """All trainings, in the order to run them: whole rows of the most important data first."""
        by_data = sorted({column.data for column in self.columns}, key=IMPORTANCE.index)
        return [cell for data in by_data for row in self.rows for cell in row.cells[data]]


def plan_table(table: TableDefinition, request: Request) -> Plan:
    """Resolve every recipe of a table; raise UsageError where data, pattern or settings leave nothing or clash."""
    _check_settings(request.settings)
    columns = _choose_columns(table, request.data)
    data = tuple(dict.fromkeys(column.data for column in columns))
    rows = [_row(definition, data, request) for definition in table.rows]
    chosen = [row for row in rows if _is_wanted(row, request.systems)]
    if not chosen:
        known = ", ".join(row.label for row in rows)
        raise UsageError(f"expected --systems to match one of {known}, got '{request.systems}'")
    return Plan(table, columns, tuple(_collapse(chosen)), request)


def encoder_slug(encoder: str) -> str:
    """Return the part of an encoder's name that a folder can be called by.

    >>> encoder_slug("google-bert/bert-base-uncased"), encoder_slug("vectors/glove.6B.300d.txt")
    ('bert-base-uncased', 'glove.6B.300d')
    """
    name = encoder.rstrip("/").rpartition("/")[2].removesuffix(".txt")
    return re.sub(r"[^\w.+-]+", "-", name) or "encoder"


def _check_settings(settings: Sequence[str]) -> None:
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if key in RESERVED:
            raise UsageError(f"--set {key} would change what the table is about: use --encoder, --data or --seeds")


def _choose_columns(table: TableDefinition, wanted: Sequence[str]) -> tuple[Column, ...]:
    for name in wanted:
        find_dataset(name)
        if name not in {column.data for column in table.columns}:
            known = ", ".join(dict.fromkeys(column.data for column in table.columns))
            raise UsageError(f"{table.name} has no data set '{name}': it has {known}")
    return tuple(column for column in table.columns if not wanted or column.data in wanted)


def _row(definition: RowDefinition, data: Sequence[str], request: Request) -> Row:
    base = _resolve(definition, data[0], 0, request)
    name = definition.recipe + (f"+{definition.variant}" if definition.variant else "")
    folder = request.output / name / encoder_slug(base.model.encoder)
    cells = {
        each: tuple(
            Cell(_resolve(definition, each, seed, request), folder / each / f"seed{seed}")
            for seed in range(request.seeds)
        )
        for each in data
    }
    system = base.paper.system or definition.recipe
    label = f"{system}, {definition.variant}" if definition.variant else system
    # A variant is no system that the paper prints figures for.
    return Row(label, "" if definition.variant else system, base.model.encoder, cells)


def _resolve(definition: RowDefinition, data: str, seed: int, request: Request) -> Recipe:
    recipe = load_recipe(definition.recipe, [*request.settings, *definition.settings])
    model = recipe.model
    # GloVe and ELMo rows keep their vectors: there is no encoder in them to replace.
    if request.encoder and model.features == "encoder":
        model = model.model_copy(update={"encoder": request.encoder})
    return recipe.model_copy(
        update={
            "model": model,
            "data": recipe.data.model_copy(update={"name": data}),
            "training": recipe.training.model_copy(update={"seed": seed}),
        }
    )


def _is_wanted(row: Row, pattern: str) -> bool:
    recipe = next(iter(row.cells.values()))[0].recipe.name
    return not pattern or any(fnmatch(name, pattern) for name in (row.label, recipe))


def _collapse(rows: Sequence[Row]) -> list[Row]:
    """Make one row of those whose trainings are the same but for their names, as a replaced encoder leaves them."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        recipe = next(iter(row.cells.values()))[0].recipe
        groups.setdefault(recipe.model_dump_json(exclude={"name", "description", "paper"}), []).append(row)
    labels = [_common_label(group) for group in groups.values()]
    return [
        replace(
            group[0],
            label=label if labels.count(label) == 1 else group[0].label,
            stands_for=tuple(row.label for row in group) if len(group) > 1 else (),
        )
        for group, label in zip(groups.values(), labels, strict=True)
    ]


def _common_label(rows: Sequence[Row]) -> str:
    """Join the parts that all labels have: base+fc+cased, large+fc+uncased → fc."""
    if len(rows) == 1:
        return rows[0].label
    parts = [re.split(r"[+:,]\s*", row.label) for row in rows]
    return "+".join(part for part in parts[0] if all(part in other for other in parts)) or rows[0].label
