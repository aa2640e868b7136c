"""A table about data sets in, our counts beside the paper's printed ones out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from anselect.data.catalogue import CLEAN, RAW, find_dataset
from anselect.data.statistics import SplitStatistics, describe_split
from anselect.errors import MissingFileError, UsageError
from anselect.experiments.sheet import Entry, Sheet
from anselect.experiments.tables import TITLES, TableDefinition, data_of
from anselect.training.prepare import TRAIN_SPLITS

HEADERS: Final = ("data", "split", "questions", "published", "difference", "candidates", "published", "difference")


def count_data(table: TableDefinition, data: Sequence[str] = (), *, data_dir: Path | None = None) -> Sheet:
    """Count every split that the paper counts; one whose files are not at hand gets dashes and a footnote."""
    known = dict.fromkeys(data_of(key) for key in table.column_keys)
    for name in data:
        if name not in known:
            raise UsageError(f"{table.name} has no data set '{name}': it has {', '.join(known)}")
    records = [
        record
        for key in table.column_keys
        if not data or data_of(key) in data
        for record in _records(table, key, data_dir)
    ]
    footnotes = tuple(dict.fromkeys(record["remark"] for record in records if record["remark"]))
    lines = tuple(_line(record, footnotes) for record in records)
    caption = "Questions with candidates, as the files at hand have them; published: the paper's printed counts."
    return Sheet(table.title, HEADERS, lines, (caption, *table.notes), footnotes, tuple(records))


def _records(table: TableDefinition, key: str, data_dir: Path | None) -> Iterator[dict[str, Any]]:
    name = data_of(key)
    for split in (TRAIN_SPLITS.get(name, "train"), "dev", "test"):
        version = _version(table, key, split)
        known = find_dataset(name).splits[split].versions[version]
        printed = next((each for each in known.published if each.source == table.source), None)
        row, remark = _describe(name, split, version, data_dir)
        counts = row.statistics.counts if row else None
        yield {
            "table": table.name,
            "data": key,
            "split": split,
            "questions": counts.questions if counts else None,
            "published_questions": printed.questions if printed else None,
            "candidates": counts.candidates if counts else None,
            "published_candidates": printed.candidates if printed else None,
            "remark": remark,
            "files": [f"{file.path.name} {file.sha256}" for file in row.source.files] if row else [],
        }


def _version(table: TableDefinition, key: str, split: str) -> str:
    """Return which version of a split the paper's column means: BAS calls WikiQA's clean one just WikiQA."""
    versions = find_dataset(data_of(key)).splits[split].versions
    if key.endswith("-clean") and CLEAN in versions:
        return CLEAN
    if key in {"wikiqa"} and table.source.startswith("BAS"):
        return CLEAN
    return RAW


def _describe(name: str, split: str, version: str, data_dir: Path | None) -> tuple[SplitStatistics | None, str]:
    try:
        row = next(row for row in describe_split(name, split, data_dir) if row.version == version)
    except MissingFileError as error:
        return None, str(error)
    return row, f"{name} {split}: {row.remark}" if row.remark else ""


def _line(record: dict[str, Any], footnotes: Sequence[str]) -> tuple[Entry, ...]:
    cells = [Entry(TITLES[record["data"]]), Entry(record["split"])]
    for name in ("questions", "candidates"):
        ours, printed = record[name], record[f"published_{name}"]
        difference = "–" if ours is None or printed is None else f"{ours - printed:+d}" if ours != printed else "0"
        cells += [Entry("–" if value is None else str(value)) for value in (ours, printed)]
        cells.append(Entry(difference))
    if record["remark"]:
        cells[2] = Entry(cells[2].text, footnotes=(footnotes.index(record["remark"]) + 1,))
    return tuple(cells)
