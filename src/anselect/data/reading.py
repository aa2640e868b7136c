"""Files of any format to questions, and questions to files of any format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from anselect.data import treebank
from anselect.data.catalogue import dataset_names, find_dataset
from anselect.data.files import STDIN, open_binary, require_file
from anselect.data.format_table import FORMATS, READABLE_FORMATS, WRITABLE_FORMATS, Format, find_format
from anselect.data.formats.checks import shown
from anselect.data.formats.wikiqa import COLUMNS as WIKIQA_COLUMNS
from anselect.data.holding import without_surrogates
from anselect.data.locate import read_split
from anselect.data.located import LocatedQuestion
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.records import Question

__all__ = ["FORMATS", "Format", "detect_format", "find_format", "read_located", "read_questions", "write_questions"]

DATA_SET: Final = "data-set"
"""What `detect_format` says of a name that is no file but that of a data set."""
HEAD_BYTES: Final = 64 * 1024
"""How much of a file is looked at to tell its format."""
# What gives a format away, in the order in which it is looked for.
_SIGNS: Final[tuple[tuple[str, re.Pattern[bytes]], ...]] = (
    ("parquet", re.compile(rb"PAR1")),
    ("yahoocqa", re.compile(rb"PK\x03\x04|\x80[\x02-\x05]")),
    ("trecqa-xml", re.compile(rb"\s*<QApairs\b")),
    ("semeval2016", re.compile(rb"\s*<.*<(?:!ELEMENT )?(?:Thread|RelQuestion)\b", re.DOTALL)),
    ("semeval2015", re.compile(rb"\s*<.*<Question\b", re.DOTALL)),
    ("jsonl", re.compile(rb"\s*\{")),
    ("wikiqa", re.compile("\t".join(WIKIQA_COLUMNS).encode() + rb"\r?\n")),
    ("tsv", re.compile(rb"[^\n]*\t")),
)


def read_questions(
    path: Path,
    *,
    input_format: str | None = None,
    split: str | None = None,
    detokenize: bool = False,
    data_dir: Path | None = None,
) -> Iterator[Question]:
    """Read the questions of a file or folder, streaming where the format can; `-` is stdin.

    A path that is no file may be the name of a data set, looked for in `data_dir` first. Without `input_format` the
    format is detected. `split` names one of several of a data set or in a YahooCQA file and is a UsageError for another
    format; `detokenize` turns Penn Treebank tokens, as in TrecQA, into text.
    """
    name = input_format or detect_format(path)
    if name == DATA_SET:
        name, split = str(path), split or _only_split(str(path))
        return iter(read_split(name, split, detokenize=detokenize, data_dir=data_dir))
    found = find_format(name)
    if found.read is None:
        raise _only_written(name, path)
    options = _split_option(found, name, split)
    if not detokenize:
        return found.read(path, **options)
    if "detokenize" in found.options:
        return found.read(path, detokenize=True)
    return (_detokenized(question) for question in found.read(path, **options))


def read_located(
    path: Path, *, input_format: str | None = None, split: str | None = None, data_dir: Path | None = None
) -> Iterator[LocatedQuestion]:
    """Read the questions with the lines they stand on, where the format has lines; repeated ids may pass."""
    name = input_format or detect_format(path)
    if name == DATA_SET:
        return map(LocatedQuestion, read_split(str(path), split or _only_split(str(path)), data_dir=data_dir))
    found = find_format(name)
    if found.read_located is None:
        raise _only_written(name, path)
    return found.read_located(path, **_split_option(found, name, split))


def write_questions(questions: Iterable[Question], path: Path, *, output_format: str | None = None) -> None:
    """Write questions to a file or folder, gzip for `.gz`, stdout for `-`; the name tells the format if nothing else.

    What the format cannot hold is left out, see `convert`. Nothing stands under the name until all is written.
    """
    name = output_format or detect_output_format(path)
    target = find_format(name)
    if target.write is None:
        raise UsageError(f"expected a format that can be written, got {name}: there are {', '.join(WRITABLE_FORMATS)}")
    if not target.is_stream and (path == STDIN or path.suffix == ".gz"):
        what = "folder" if target.is_folder else "file"
        message = f"expected a plain {what} name for {name}, got '{path}': neither gzip nor stdout can be written"
        raise UsageError(message)
    target.write(questions if target.holds.surrogates else map(without_surrogates, questions), path)


def detect_format(path: Path) -> str:
    """Tell the format of a file or folder by its ending and, where that is not enough, by how it begins."""
    if path == STDIN:
        raise UsageError(f"expected --input-format with '-', got none: there are {', '.join(READABLE_FORMATS)}")
    if path.is_dir():
        return _detect_folder(path)
    if not path.exists() and str(path) in dataset_names():
        return DATA_SET
    require_file(path)
    ending = _ending(path)
    # A WikiQA file is named .tsv as well, and only its header tells.
    if ending != ".tsv" and (name := _by_ending(ending)):
        return name
    head = _head(path)
    for name, sign in _SIGNS:
        if sign.match(head):
            return name
    if name := _by_ending(ending):
        return name
    got = shown(head[:40].decode(errors="replace")) if head else "an empty file"
    choice = ", ".join(READABLE_FORMATS)
    message = f"expected a file that tells its format, got {got}: give --input-format, one of {choice}"
    raise DataError(message, path=path)


def detect_output_format(path: Path) -> str:
    """Tell by the name which format is meant.

    >>> detect_output_format(Path("out.jsonl.gz"))
    'jsonl'
    """
    name = _by_ending(_ending(path))
    if name is None:
        raise UsageError(
            f"expected a name that tells the format (such as .tsv, .jsonl), got '{path}': "
            f"give --output-format, one of {', '.join(WRITABLE_FORMATS)}"
        )
    return name


def _split_option(found: Format, name: str, split: str | None) -> dict[str, str]:
    if split is not None and "split" not in found.options:
        raise UsageError(f"expected no --split for {name}, whose files hold one split, got {split!r}: leave it out")
    return {} if split is None else {"split": split}


def _only_split(name: str) -> str:
    splits = tuple(find_dataset(name).splits)
    if len(splits) > 1:
        raise UsageError(f"expected --split with {name}, got none: it has {', '.join(splits)}")
    return splits[0]


def _detect_folder(path: Path) -> str:
    names = {entry.name.removesuffix(".gz") for entry in path.iterdir()}
    if names & {"a.toks", "b.toks"}:
        return "toks"
    if any(".POSInput" in name for name in names):
        return "jacana"
    message = "expected a file, or a folder of toks or POSInput files, got another folder: name the file in it"
    raise MissingFileError(f"{path}: {message}")


def _only_written(name: str, path: Path) -> UsageError:
    choice = ", ".join(READABLE_FORMATS)
    return UsageError(f"{path}: expected a format with texts to read, got {name}, which is only written: use {choice}")


def _ending(path: Path) -> str:
    named = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return named.suffix.lower()


def _by_ending(ending: str) -> str | None:
    return next((name for name, found in FORMATS.items() if ending in found.extensions), None)


def _head(path: Path) -> bytes:
    with open_binary(path) as file:
        return file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")


def _detokenized(question: Question) -> Question:
    candidates = (replace(each, text=treebank.detokenize(each.text)) for each in question.candidates)
    return replace(question, text=treebank.detokenize(question.text), candidates=tuple(candidates))
