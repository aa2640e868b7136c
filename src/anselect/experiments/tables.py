"""The papers' tables as data, from tables.toml: which recipes and data sets, counted how, beside what is printed."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from anselect.data.protocols import PROTOCOLS, Protocol, default_protocol
from anselect.errors import UsageError
from anselect.evaluation.published import PublishedFigure, published_figures

MEASURES: Final = ("MAP", "MRR")
TITLES: Final = {
    "trecqa-raw": "TrecQA raw",
    "trecqa-clean": "TrecQA clean",
    "wikiqa": "WikiQA",
    "wikiqa-raw": "WikiQA raw",
    "wikiqa-clean": "WikiQA clean",
    "yahoocqa": "YahooCQA",
    "semeval2015": "SemEval-2015",
    "semeval2016": "SemEval-2016",
    "semeval2017": "SemEval-2017",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A data set and a way to count its questions."""

    key: str
    """As in tables.toml: `trecqa-raw` and `trecqa-clean` are one data set."""
    data: str
    """The data set's name in the catalogue."""
    protocol: Protocol
    """The one that the paper is believed to follow, the data set's usual one where nothing is known."""
    is_believed: bool
    """Whether published.toml names the protocol for this paper."""

    @property
    def title(self) -> str:
        return TITLES[self.key]


@dataclass(frozen=True, slots=True)
class RowDefinition:
    """One system of a table."""

    recipe: str
    variant: str = ""
    """Names what `settings` change; empty for the recipe as it is."""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One table or figure of a paper."""

    name: str
    kind: str
    """`systems`, `data` or `heat-maps`."""
    title: str
    paper: str
    """The paper's name in published.toml."""
    source: str
    """`data` only: how the catalogue calls the table in its published counts."""
    column_keys: tuple[str, ...]
    rows: tuple[RowDefinition, ...]
    average: bool
    """Whether the mean over all columns is a column too."""
    cited: Mapping[str, Mapping[str, tuple[float | None, float | None]]]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(_column(self.paper, key) for key in self.column_keys)


def table_names() -> tuple[str, ...]:
    """Return the names of all tables.

    >>> "bas-table6" in table_names()
    True
    """
    return tuple(_tables())


def find_table(name: str) -> TableDefinition:
    """Return a table by name; raise UsageError with the nearest name for an unknown one."""
    tables = _tables()
    if name not in tables:
        nearest = difflib.get_close_matches(name, tables, n=1)
        hint = f"did you mean '{nearest[0]}'? " if nearest else ""
        raise UsageError(f"unknown table '{name}': {hint}known are {', '.join(tables)}")
    return tables[name]


def printed_figures(paper: str, column: str) -> Mapping[str, PublishedFigure]:
    """Return what a paper prints in a column, by system.

    >>> printed_figures("BAS", "trecqa-raw")["base+fc+uncased"].map
    0.869
    """
    # `published_figures` tells the two versions of TrecQA apart by how a protocol counts.
    probe = PROTOCOLS["raw-95"] if column == "trecqa-raw" else default_protocol(data_of(column))
    figures = published_figures(data_of(column), "test", probe)
    return {figure.system: figure for figure in figures if figure.paper == paper}


def data_of(column: str) -> str:
    """Return the data set of a column.

    >>> data_of("trecqa-raw")
    'trecqa'
    """
    return column.removesuffix("-raw").removesuffix("-clean")


def _column(paper: str, key: str) -> Column:
    believed = {figure.protocol for figure in printed_figures(paper, key).values()} - {None}
    name = next(iter(believed), None)
    protocol = PROTOCOLS[name] if name else default_protocol(data_of(key))
    return Column(key, data_of(key), protocol, is_believed=name is not None)


@cache
def _tables() -> Mapping[str, TableDefinition]:
    text = resources.files("anselect.experiments").joinpath("tables.toml").read_text(encoding="utf-8")
    return {name: _table(name, values) for name, values in tomllib.loads(text).items()}


def _table(name: str, values: Mapping[str, Any]) -> TableDefinition:
    return TableDefinition(
        name=name,
        kind=values["kind"],
        title=values["title"],
        paper=values.get("paper", ""),
        source=values.get("source", ""),
        column_keys=tuple(values["columns"]),
        rows=tuple(_row(row) for row in values.get("rows", ())),
        average=values.get("average", False),
        cited={
            system: {column: (pair[0] or None, pair[1] or None) for column, pair in figures.items()}
            for system, figures in values.get("cited", {}).items()
        },
        notes=tuple(values.get("notes", ())),
    )


def _row(values: Mapping[str, Any]) -> RowDefinition:
    return RowDefinition(values["recipe"], values.get("variant", ""), tuple(values.get("set", ())))
