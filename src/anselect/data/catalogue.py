"""The named data sets: files, hashes, licences, splits and counts, from catalogue.toml; opens no data file."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from anselect.errors import UsageError

RAW, CLEAN = "raw", "clean"


class CleanRule(StrEnum):
    """Which questions the clean version of a data set keeps; the value says it in words."""

    none = "the data set has no clean version"
    answerable = "questions with at least one correct candidate"
    mixed = "questions with at least one correct and one incorrect candidate"


class HashStatus(StrEnum):
    """What the catalogue knows of a file's bytes, best first; the value says it in words."""

    published = "the publisher's bytes"
    copy = "a known copy, not the publisher's bytes"
    unrecorded = "no sha256 is recorded for it"
    changed = "not the recorded sha256"


@dataclass(frozen=True, slots=True)
class Counts:
    """What a split holds."""

    questions: int
    """Questions that have candidates."""
    candidates: int
    positives: int
    no_positive: int
    """Questions with candidates, none of them correct."""
    all_positive: int
    """Questions with candidates, all of them correct."""
    without_candidates: int = 0


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper prints about a split."""

    source: str
    """The paper and its table."""
    questions: int
    candidates: int | None
    """None where the paper prints none."""


@dataclass(frozen=True, slots=True)
class Version:
    """A split as it is (`raw`) or without the questions that the field leaves out (`clean`)."""

    counts: Counts | None
    """The true counts; None where nobody has counted the file."""
    published: tuple[Published, ...] = ()
    """What the papers print, the figure to show first."""
    why: str = ""
    """Why that figure is shown, or why the true counts differ from it."""


@dataclass(frozen=True, slots=True)
class Source:
    """One way to read a split from files."""

    reader: str
    files: tuple[str, ...]
    is_original: bool
    """False for our own pair file."""


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a data set: read from the first source at hand, or put together from other splits."""

    name: str
    sources: tuple[Source, ...]
    parts: tuple[tuple[str, str], ...]
    """(data set, split) pairs that make it up; empty for a split with files of its own."""
    versions: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file or archive of a data set."""

    name: str
    """Its path inside the data set's folder."""
    sha256: tuple[str, ...] = ()
    """The publisher's bytes; several where honest copies differ in line ends; empty: not recorded."""
    copies: tuple[str, ...] = ()
    """Known copies that are not the publisher's bytes."""
    urls: tuple[str, ...] | None = None
    """Where it is published, alone; empty: the address is not known; None: it is not downloaded on its own."""
    archive: str | None = None
    """The zip that the publisher ships it in."""

    def status(self, sha256: str) -> HashStatus:
        """Compare the sha256 of a file at hand with what is recorded."""
        if sha256 in self.sha256:
            return HashStatus.published
        if sha256 in self.copies:
            return HashStatus.copy
        return HashStatus.changed if self.sha256 else HashStatus.unrecorded


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named data set."""

    name: str
    title: str
    homepage: str
    licence: str
    notice: str
    """What a user must know before downloading."""
    citations: tuple[str, ...]
    clean_rule: CleanRule
    is_treebank: bool
    """Whether its texts are Penn Treebank tokens."""
    copies_are: str
    """How the known copies differ from the publisher's bytes."""
    files: Mapping[str, DataFile]
    archives: Mapping[str, DataFile]
    splits: Mapping[str, Split]


def dataset_names() -> tuple[str, ...]:
    """Return the names of all data sets.

    >>> "wikiqa" in dataset_names()
    True
    """
    return tuple(_catalogue())


def find_dataset(name: str) -> Dataset:
    """Return a data set by name; raise UsageError with the nearest name for an unknown one."""
    catalogue = _catalogue()
    if name not in catalogue:
        raise UsageError(_unknown("data set", name, catalogue))
    return catalogue[name]


def find_split(name: str, split: str) -> Split:
    """Return a split of a data set; raise UsageError with the nearest name for an unknown one."""
    splits = find_dataset(name).splits
    if split not in splits:
        raise UsageError(_unknown(f"split of {name}", split, splits))
    return splits[split]


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    nearest = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"Did you mean '{nearest[0]}'? " if nearest else ""
    return f"unknown {what} '{name}'. {hint}Known: {', '.join(names)}"


@cache
def _catalogue() -> Mapping[str, Dataset]:
    text = resources.files("anselect.data").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: _dataset(name, facts) for name, facts in tomllib.loads(text).items()}


def _dataset(name: str, facts: Mapping[str, Any]) -> Dataset:
    return Dataset(
        name=name,
        title=facts["title"],
        homepage=facts["homepage"],
        licence=facts["licence"],
        notice=facts["notice"],
        citations=tuple(facts["citations"]),
        clean_rule=CleanRule[facts.get("clean_rule", "none")],
        is_treebank=facts.get("treebank", False),
        copies_are=facts.get("copies_are", ""),
        files={file: _data_file(file, about) for file, about in facts["files"].items()},
        archives={file: _data_file(file, about) for file, about in facts.get("archives", {}).items()},
        splits={split: _split(split, about) for split, about in facts["splits"].items()},
    )


def _data_file(name: str, about: Mapping[str, Any]) -> DataFile:
    urls = about.get("urls")
    return DataFile(
        name=name,
        sha256=tuple(about["sha256"]),
        copies=tuple(about.get("copies", ())),
        urls=None if urls is None else tuple(urls),
        archive=about.get("archive"),
    )


def _split(name: str, about: Mapping[str, Any]) -> Split:
    originals = [Source(source["reader"], tuple(source["files"]), True) for source in about.get("originals", ())]
    normalised = [Source("tsv", (about["normalised"],), False)] if "normalised" in about else []
    parts = (tuple(part.split("/")) for part in about.get("parts", ()))
    return Split(
        name=name,
        sources=(*originals, *normalised),
        parts=tuple((data, split) for data, split in parts),
        versions={version: _version(about[version]) for version in (RAW, CLEAN) if version in about},
    )


def _version(about: Mapping[str, Any]) -> Version:
    return Version(
        counts=Counts(**about["counts"]) if "counts" in about else None,
        published=tuple(
            Published(row["in"], row["questions"], row.get("candidates")) for row in about.get("published", ())
        ),
        why=about.get("why", ""),
    )
