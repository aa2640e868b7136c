"""What to evaluate on: the name of a data set or the path of a file in, labelled questions out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anselect.data.catalogue import dataset_names
from anselect.data.locate import read_split
from anselect.data.reading import detect_format, find_format, read_questions
from anselect.errors import UsageError
from anselect.records import Question


@dataclass(frozen=True, slots=True)
class LabelledData:
    """A split of labelled questions, as its source has it."""

    name: str | None
    """The data set's name in the catalogue; None for a user's own file."""
    source: str
    """What the user called it: the name or the path."""
    split: str
    questions: list[Question]


def read_labelled_questions(data: str, split: str, *, data_dir: Path | None = None) -> LabelledData:
    """Read a data set of the catalogue, or a file of any format that Anselect reads.

    A file holds one split; the name matters only for a YahooCQA file, which holds several.
    Raises UsageError for a name that is neither, MissingFileError for a path to nothing.
    """
    if data in dataset_names():
        return LabelledData(data, data, split, read_split(data, split, data_dir=data_dir))
    path = Path(data)
    if not path.exists() and data == path.stem:
        raise UsageError(f"'{data}' is neither a data set nor a file: data sets are {', '.join(dataset_names())}")
    has_splits = "split" in find_format(detect_format(path)).options
    return LabelledData(None, data, split, list(read_questions(path, split=split if has_splits else None)))
