"""Names of data sets or files in; out comes what training sets share with dev and test sets, pair by pair."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anselect.data.catalogue import dataset_names, find_dataset, find_split
from anselect.data.locate import read_split
from anselect.data.overlap import KINDS, NearQuestions, Overlap, TextTable, compare_tables
from anselect.data.reading import read_questions
from anselect.errors import MissingFileError, UsageError
from anselect.records import Question

logger = logging.getLogger(__name__)

EVALUATION_SETS: Final = ("wikiqa", "trecqa", "semeval2015", "semeval2016", "semeval2017", "insuranceqa")
"""What training data are compared with where nothing is named: their dev and test splits."""
HELD_OUT: Final = ("dev", "test")


@dataclass(frozen=True, slots=True)
class PairAudit:
    """What one training set shares with one held-out set."""

    train: str
    against: str
    questions: int
    """Held-out questions."""
    candidates: int
    """Different held-out candidates of six words and more."""
    overlaps: tuple[Overlap, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many overlaps there are of each kind, all kinds named."""
        found = Counter(overlap.kind for overlap in self.overlaps)
        return {kind: found[kind] for kind in KINDS}


def audit_overlaps(
    train: Sequence[str], against: Sequence[str] = (), *, data_dir: Path | None = None
) -> list[PairAudit]:
    """Compare every training set with every held-out set, a split at a time.

    A name is that of a data set (its train splits, or its dev and test splits; its only split), `name/split`, or a
    file. Without `against` it is the dev and test splits of EVALUATION_SETS. Splits of a data set that are not on this
    machine are passed over with a note; a split or file asked for by its own name must be there.
    """
    if not train:
        raise UsageError("expected --train with a data set or file, got none")
    held_out = [
        (name, TextTable.of(questions))
        for name, questions in _read(against or EVALUATION_SETS, HELD_OUT, data_dir, is_needed=bool(against))
    ]
    audits = []
    for name, questions in _read(train, ("train",), data_dir, is_needed=True):
        table = TextTable.of(questions)
        near = NearQuestions(table.questions)
        for other, other_table in held_out:
            if other != name:
                found = tuple(compare_tables(table, other_table, near))
                audits.append(PairAudit(name, other, len(other_table.questions), len(other_table.candidates), found))
    if not audits:
        raise MissingFileError(
            "expected training and held-out data, got none on this machine: see 'anselect data list'"
        )
    return audits


def _read(
    names: Sequence[str], roles: Sequence[str], data_dir: Path | None, *, is_needed: bool
) -> Iterator[tuple[str, list[Question]]]:
    """Yield each split or file under the name that reports give it."""
    for name in names:
        if name in dataset_names():
            yield from _read_roles(name, roles, data_dir, is_needed=is_needed)
        elif name.partition("/")[0] in dataset_names() and not Path(name).exists():
            data, _, split = name.partition("/")
            yield name, _detokenized_split(data, split, data_dir)
        else:
            yield name, list(read_questions(Path(name)))


def _read_roles(
    name: str, roles: Sequence[str], data_dir: Path | None, *, is_needed: bool
) -> Iterator[tuple[str, list[Question]]]:
    splits = [split for split in _splits_of(name, roles) if not _is_borrowed(name, split)]
    found = 0
    for split in splits:
        try:
            questions = _detokenized_split(name, split, data_dir)
        except MissingFileError:
            logger.info("%s/%s is not on this machine: passed over", name, split)
            continue
        found += 1
        yield f"{name}/{split}", questions
    if is_needed and not found:
        raise MissingFileError(
            f"{name}: expected a split among {', '.join(splits) or ' '.join(roles)} on this machine, got none: "
            f"get it with 'anselect data fetch {name}'"
        )


def _splits_of(name: str, roles: Sequence[str]) -> list[str]:
    splits = list(find_dataset(name).splits)
    wanted = [split for split in splits if split.partition("-")[0] in roles]
    return splits if len(splits) == 1 else wanted


def _is_borrowed(name: str, split: str) -> bool:
    """A split put together from others is compared by its parts; semeval2017's dev is that of semeval2016."""
    return bool(find_split(name, split).parts)


def _detokenized_split(name: str, split: str, data_dir: Path | None) -> list[Question]:
    """TrecQA's tokens would hide that a text is the same."""
    return read_split(name, split, detokenize=True, data_dir=data_dir)
