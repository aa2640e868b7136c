"""What every table comes down to before it is printed: headers, lines of entries, captions and numbered footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anselect.experiments.gather import AVERAGE, SURE, Figure, ResultCell, ResultRow, ResultTable
from anselect.experiments.tables import MEASURES


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of a table."""

    text: str
    is_best: bool = False
    is_worse: bool = False
    link: str = ""
    """The run folder that it comes from."""
    footnotes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table ready to print in any format."""

    title: str
    headers: tuple[str, ...]
    lines: tuple[tuple[Entry, ...], ...]
    captions: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    records: tuple[Mapping[str, Any], ...] = field(default=())
    """The same as plain values, one for each entry that holds a figure: CSV's lines and JSON's list."""


def lay_out(table: ResultTable) -> Sheet:
    """Turn results into text: mean ± deviation (published, difference), a dash and a footnote where nothing is."""
    footnotes: dict[str, int] = {}
    lines = tuple(
        (Entry(row.label), *(_entry(row, key, name, footnotes) for key in table.columns for name in MEASURES))
        for row in table.rows
    )
    return Sheet(
        title=table.title,
        headers=("system", *(f"{title} {name}" for title in table.columns.values() for name in MEASURES)),
        lines=lines,
        captions=(*_captions(table), *table.notes),
        footnotes=tuple(footnotes),
        records=tuple(
            _record(table, row, key, name) for row in table.rows for key in table.columns for name in MEASURES
        ),
    )


def figure_text(figure: Figure) -> str:
    """Write a figure in words.

    >>> figure_text(Figure((0.75, 0.77), 0.789)), figure_text(Figure((), 0.789)), figure_text(Figure((0.5,)))
    ('0.760 ± 0.014 (0.789, -0.029)', '– (0.789)', '0.500')
    """
    ours = "–" if figure.mean is None else f"{figure.mean:.3f}"
    spread = "" if figure.deviation is None else f" ± {figure.deviation:.3f}"
    beside = "" if figure.published is None else f"{figure.published:.3f}"
    difference = "" if figure.difference is None else f", {figure.difference:+.3f}"
    return f"{ours}{spread}" + (f" ({beside}{difference})" if beside else "")


def _entry(row: ResultRow, key: str, measure: str, footnotes: dict[str, int]) -> Entry:
    cell = row.cells[key]
    is_map = measure == "MAP"
    return Entry(
        text=figure_text(cell.figures[measure]),
        is_best=is_map and cell.is_best,
        is_worse=is_map and cell.p is not None and cell.p < SURE,
        link=folder_of(cell),
        footnotes=_number(cell.reasons, footnotes) if is_map else (),
    )


def folder_of(cell: ResultCell) -> str:
    """Return the run's folder, or the one above where there are several seeds; empty where nothing was run."""
    if not cell.runs:
        return ""
    return (cell.runs[0] if len(cell.runs) == 1 else cell.runs[0].parent).as_posix()


def _number(texts: Iterable[str], footnotes: dict[str, int]) -> tuple[int, ...]:
    return tuple(footnotes.setdefault(text, len(footnotes) + 1) for text in texts)


def _captions(table: ResultTable) -> list[str]:
    counted = [
        f"{table.columns[key]}: protocol {protocol}"
        + (f", {table.questions[key]} questions" if key in table.questions else "")
        for key, protocol in table.protocols.items()
    ]
    captions = [f"{'; '.join(counted)}. Test figures; the epoch was chosen on dev."]
    captions.append(
        f"Mean ± standard deviation over {_seeds(table.rows)}; in brackets the published figure, ours minus it."
    )
    if any(cell.is_best for row in table.rows for cell in row.cells.values()):
        captions.append(
            "Best MAP of a column: * or bold. †: significantly below it, by a paired randomisation test on the "
            f"questions' average precision (mean over seeds), adjusted by Holm, p < {SURE:g}."
        )
    if AVERAGE in table.columns:
        captions.append("Average: the mean over all data columns.")
    return captions


def _seeds(rows: Sequence[ResultRow]) -> str:
    counts = sorted({len(cell.runs) for row in rows for cell in row.cells.values() if cell.runs})
    if not counts:
        return "seeds (nothing was run yet)"
    shown = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{shown} seed" + ("" if counts == [1] else "s")


def _record(table: ResultTable, row: ResultRow, key: str, measure: str) -> dict[str, Any]:
    cell, figure = row.cells[key], row.cells[key].figures[measure]
    return {
        "table": table.name,
        "system": row.label,
        "encoder": row.encoder or None,
        "data": key,
        "protocol": table.protocols.get(key),
        "questions": table.questions.get(key),
        "measure": measure,
        "mean": figure.mean,
        "standard_deviation": figure.deviation,
        "seeds": len(figure.values),
        "published": figure.published,
        "difference": figure.difference,
        "is_best": cell.is_best if measure == "MAP" else None,
        "p_holm": cell.p if measure == "MAP" else None,
        "runs": [run.as_posix() for run in cell.runs],
        "missing": list(cell.reasons),
        "stands_for": list(row.stands_for),
    }
