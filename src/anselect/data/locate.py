"""Where the named data sets lie on this machine, and their splits as questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from anselect.data.catalogue import Dataset, HashStatus, Source, find_dataset, find_split
from anselect.data.files import file_sha256
from anselect.data.formats.insuranceqa import read_insuranceqa, read_insuranceqa_archive
from anselect.data.formats.jacana import read_train_all
from anselect.data.formats.semeval2015 import read_semeval2015
from anselect.data.formats.semeval2016 import read_semeval2016
from anselect.data.formats.spans import read_spans
from anselect.data.formats.trecqa_xml import read_trecqa_xml
from anselect.data.formats.tsv import read_tsv
from anselect.data.formats.wikiqa import read_wikiqa
from anselect.data.formats.yahoocqa import read_yahoocqa
from anselect.data.treebank import detokenize as treebank_to_text
from anselect.data.user_cache import user_cache
from anselect.errors import MissingFileError
from anselect.records import Question

DATA_VARIABLE: Final = "ANSELECT_DATA"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a split is read from."""

    path: Path
    sha256: str
    status: HashStatus


@dataclass(frozen=True, slots=True)
class SplitSource:
    """What a split is read from: provenance for reports."""

    name: str
    split: str
    kind: str
    """`original`, `normalised`, or `mixed` for a split put together from both."""
    files: tuple[SourceFile, ...]

    @property
    def status(self) -> HashStatus:
        """The worst status among the files."""
        return max((file.status for file in self.files), key=list(HashStatus).index)


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source of the catalogue whose files are all in one folder."""

    dataset: Dataset
    split: str
    source: Source
    folder: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.folder / file for file in self.source.files)


def data_roots(data_dir: Path | None = None) -> list[Path]:
    """Return the folders that may hold data sets, in the order they are searched.

    First the caller's folder, then `$ANSELECT_DATA`, then the user's cache. The environment is read here, not only in
    the command line, so that Python programs find the same files as commands do.
    """
    named = os.environ.get(DATA_VARIABLE)
    roots = [data_dir, Path(named) if named else None, user_cache("data")]
    return list(dict.fromkeys(root for root in roots if root is not None))


def read_split(name: str, split: str, *, data_dir: Path | None = None, detokenize: bool = False) -> list[Question]:
    """Read a split as its files have it, questions without candidates included.

    `detokenize` turns Penn Treebank tokens (TrecQA) back into text; it changes nothing in the other data sets.
    Raises MissingFileError where the files are not on this machine, DataError where they are not what they should be.
    """
    questions: list[Question] = []
    for found in find_sources(name, split, data_dir):
        questions += _read(found, detokenize and found.dataset.is_treebank)
    return questions


def split_source(name: str, split: str, data_dir: Path | None = None) -> SplitSource:
    """Return the files that `read_split` reads, with their sha256; raise MissingFileError as it does."""
    found = find_sources(name, split, data_dir)
    kinds = {"original" if item.source.is_original else "normalised" for item in found}
    return SplitSource(
        name=name,
        split=split,
        kind=kinds.pop() if len(kinds) == 1 else "mixed",
        files=tuple(_source_file(item, file) for item in found for file in item.source.files),
    )


def is_present(name: str, split: str, data_dir: Path | None = None) -> bool:
    """Say whether the files of a split are on this machine."""
    try:
        return bool(find_sources(name, split, data_dir))
    except MissingFileError:
        return False


def find_sources(name: str, split: str, data_dir: Path | None = None) -> list[FoundSource]:
    """Find what a split is read from: one source, or one for each part of a split put together from others.

    The first root that holds the split wins; in a root a publisher's file goes before our own pair file.
    """
    about = find_split(name, split)
    if about.parts:
        return [found for part in about.parts for found in find_sources(*part, data_dir)]
    roots = existing_roots(data_dir)
    dataset = find_dataset(name)
    for root in roots:
        for source in about.sources:
            for folder in _folders(root, name, source):
                if all((folder / file).is_file() for file in source.files):
                    return [FoundSource(dataset, split, source, folder)]
    raise MissingFileError(_missing(dataset, split, about.sources, roots))


def existing_roots(data_dir: Path | None) -> list[Path]:
    """Return the folders that are searched; raise MissingFileError where the one that the user names is not there."""
    if data_dir is not None and not data_dir.is_dir():
        raise MissingFileError(f"{data_dir}: expected a folder with data sets, there is none: check --data-dir")
    return data_roots(data_dir)


def _folders(root: Path, name: str, source: Source) -> list[Path]:
    """Our own pair files have names such as train.tsv, which count only in a folder named after the data set."""
    folders = [root / name, root / "original" / name]
    return [*folders, root] if source.is_original or root.name == name else folders


def _missing(dataset: Dataset, split: str, sources: Iterable[Source], roots: Iterable[Path]) -> str:
    wanted = " or ".join(" + ".join(source.files) for source in sources)
    return (
        f"{dataset.name} {split} is not on this machine: looked for {wanted} in {', '.join(map(str, roots))}; "
        f"get it with 'anselect data fetch {dataset.name}', or name its folder with --data-dir or {DATA_VARIABLE}"
    )


def _source_file(found: FoundSource, file: str) -> SourceFile:
    path = found.folder / file
    sha256 = file_sha256(path)
    return SourceFile(path, sha256, found.dataset.files[file].status(sha256))


def _read(found: FoundSource, detokenize: bool) -> Iterable[Question]:
    return READERS[found.source.reader](found, detokenize)


def _read_pairs(found: FoundSource, detokenize: bool) -> Iterable[Question]:
    questions = read_tsv(found.paths[0])
    return map(_detokenized, questions) if detokenize else questions


def _detokenized(question: Question) -> Question:
    candidates = (replace(candidate, text=treebank_to_text(candidate.text)) for candidate in question.candidates)
    return replace(question, text=treebank_to_text(question.text), candidates=tuple(candidates))


def _read_train_all(found: FoundSource, detokenize: bool) -> Iterable[Question]:
    jacana_folder, toks_folder = dict.fromkeys(path.parent for path in found.paths)
    return read_train_all(jacana_folder, toks_folder, detokenize=detokenize)


# How each reader named in the catalogue is called.
READERS: Final[Mapping[str, Callable[[FoundSource, bool], Iterable[Question]]]] = {
    "wikiqa": lambda found, detokenize: read_wikiqa(found.paths[0]),
    "trecqa_xml": lambda found, detokenize: read_trecqa_xml(found.paths[0], detokenize=detokenize),
    "train_all": _read_train_all,
    "semeval2015": lambda found, detokenize: read_semeval2015(found.paths[0]),
    "semeval2016": lambda found, detokenize: read_semeval2016(found.paths[0]),
    "yahoocqa": lambda found, detokenize: read_yahoocqa(found.paths[0], found.split),
    "spans": lambda found, detokenize: read_spans(found.paths[0]),
    "insuranceqa": lambda found, detokenize: read_insuranceqa(found.paths[0], found.paths[1]),
    "insuranceqa_archive": lambda found, detokenize: read_insuranceqa_archive(found.paths[0], found.split),
    "tsv": _read_pairs,
}
