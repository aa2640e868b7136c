"""Every file format by name: how it is read and written, and what it can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from anselect.data.formats.checks import single_line
from anselect.data.formats.csv_file import read_csv, read_located_csv, write_csv
from anselect.data.formats.jacana import read_jacana, write_jacana
from anselect.data.formats.jsonl import read_jsonl, read_located_jsonl, write_jsonl
from anselect.data.formats.parquet import read_located_parquet, read_parquet, write_parquet
from anselect.data.formats.qrels import write_qrels
from anselect.data.formats.semeval2015 import read_semeval2015, write_semeval2015
from anselect.data.formats.semeval2016 import read_semeval2016, write_semeval2016
from anselect.data.formats.spans import read_located_spans, read_spans
from anselect.data.formats.toks import read_toks, write_toks
from anselect.data.formats.trecqa_xml import read_trecqa_xml, write_trecqa_xml
from anselect.data.formats.tsv import read_located_tsv, read_tsv, write_tsv
from anselect.data.formats.wikiqa import read_wikiqa, write_wikiqa
from anselect.data.formats.yahoocqa import read_yahoocqa, write_yahoocqa
from anselect.data.holding import Holds
from anselect.data.line_numbers import (
    find_semeval2015_lines,
    find_semeval2016_lines,
    find_toks_lines,
    find_trecqa_lines,
    find_wikiqa_lines,
    with_lines,
    without_lines,
)
from anselect.data.located import LocatedQuestion
from anselect.errors import UsageError
from anselect.records import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format of questions with candidates."""

    description: str
    extensions: tuple[str, ...] = ()
    """Endings that mean this format and no other, before `.gz`."""
    read: Callable[..., Iterator[Question]] | None
    """Takes the path and the `options` by name. None: it is only written."""
    read_located: Callable[..., Iterator[LocatedQuestion]] | None
    """Takes the path, and `split` by name where that is among the `options`."""
    write: Callable[[Iterable[Question], Path], None] | None
    """None: it is only read."""
    holds: Holds
    is_folder: bool = False
    is_stream: bool = True
    """Whether `-` and `.gz` can be written."""
    options: frozenset[str] = frozenset()
    """What else the reader can be told: `split`, `detokenize`."""


def one_blank(text: str) -> str:
    """Return the text as tokens with one blank between."""
    return " ".join(text.split())


def without_nul(text: str) -> str:
    """Return the text with blanks for NUL characters, which make a text file look binary."""
    return text.replace("\0", " ")


_LAYERS: Final = frozenset({"pos", "dep", "head", "ner", "tokens"})
_DOCUMENT: Final = frozenset({"document_id", "document_title"})
_NOTHING: Final[frozenset[str]] = frozenset()

FORMATS: Final[Mapping[str, Format]] = {
    "tsv": Format(
        description="header, one candidate a line, tabs between, no quoting",
        extensions=(".tsv",),
        read=read_tsv,
        read_located=read_located_tsv,
        write=write_tsv,
        holds=Holds(text=lambda text: without_nul(single_line(text))),
    ),
    "csv": Format(
        description="header, one candidate a record, quoted as in RFC 4180",
        extensions=(".csv",),
        read=read_csv,
        read_located=read_located_csv,
        write=write_csv,
        holds=Holds(text=without_nul),
    ),
    "jsonl": Format(
        description="one question a line with its candidates, as JSON",
        extensions=(".jsonl", ".ndjson", ".json"),
        read=read_jsonl,
        read_located=read_located_jsonl,
        write=write_jsonl,
        holds=Holds(empty_values=True, surrogates=True),
    ),
    "parquet": Format(
        description="one candidate a row, or one question a row with a list of candidates",
        extensions=(".parquet", ".pq"),
        read=read_parquet,
        read_located=read_located_parquet,
        write=write_parquet,
        holds=Holds(empty_values=True),
        is_stream=False,
    ),
    "wikiqa": Format(
        description="WikiQA's TSV of seven columns",
        read=read_wikiqa,
        read_located=with_lines(read_wikiqa, find_wikiqa_lines),
        write=write_wikiqa,
        holds=Holds(
            unlabelled=False,
            empty_questions=False,
            question_metadata=_DOCUMENT,
            candidate_metadata=_DOCUMENT,
            text=single_line,
        ),
    ),
    "trecqa-xml": Format(
        description="TrecQA's pseudo-XML of token lines",
        read=read_trecqa_xml,
        read_located=with_lines(read_trecqa_xml, find_trecqa_lines),
        write=write_trecqa_xml,
        holds=Holds(
            candidate_ids=False,
            unlabelled=False,
            question_metadata=_LAYERS,
            candidate_metadata=_LAYERS | {"answer", "answer_positions"},
            text=one_blank,
        ),
        options=frozenset({"detokenize"}),
    ),
    "jacana": Format(
        description="folder of jacana's three POSInput files",
        read=read_jacana,
        read_located=lambda path: without_lines(read_jacana(path)),
        write=write_jacana,
        holds=Holds(
            candidate_ids=False,
            unlabelled=False,
            order=False,
            question_metadata=_NOTHING,
            candidate_metadata=_NOTHING,
            text=one_blank,
        ),
        is_folder=True,
        is_stream=False,
        options=frozenset({"detokenize"}),
    ),
    "toks": Format(
        description="folder of a.toks, b.toks, id.txt and sim.txt",
        read=read_toks,
        read_located=with_lines(read_toks, find_toks_lines),
        write=write_toks,
        holds=Holds(
            candidate_ids=False,
            unlabelled=False,
            empty_questions=False,
            question_metadata=_NOTHING,
            candidate_metadata=_NOTHING,
            text=one_blank,
        ),
        is_folder=True,
        is_stream=False,
        options=frozenset({"detokenize"}),
    ),
    "semeval2015": Format(
        description="SemEval 2015 task 3 XML",
        read=read_semeval2015,
        read_located=with_lines(read_semeval2015, find_semeval2015_lines),
        write=write_semeval2015,
        holds=Holds(
            question_metadata=frozenset({"subject", "category", "date", "user_id", "type", "gold_yn"}),
            candidate_metadata=frozenset({"subject", "user_id", "gold_yn", "label_raw"}),
            text=str.strip,
        ),
    ),
    "semeval2016": Format(
        description="SemEval 2016 and 2017 task 3 XML, subtask A",
        read=read_semeval2016,
        read_located=with_lines(read_semeval2016, find_semeval2016_lines),
        write=write_semeval2016,
        holds=Holds(
            question_metadata=frozenset({"subject", "category", "date", "user_id"}),
            candidate_metadata=frozenset({"date", "user_id", "label_raw"}),
            text=str.strip,
        ),
    ),
    "yahoocqa": Format(
        description="YahooCQA's pickle, plain or in a zip",
        extensions=(".pkl", ".pickle"),
        read=read_yahoocqa,
        read_located=lambda path, **options: without_lines(read_yahoocqa(path, **options)),
        write=write_yahoocqa,
        holds=Holds(
            question_ids=False,
            candidate_ids=False,
            unlabelled=False,
            question_metadata=_NOTHING,
            candidate_metadata=_NOTHING,
        ),
        is_stream=False,
        options=frozenset({"split"}),
    ),
    "spans": Format(
        description="JSONL of questions with a passage and answer spans, or SQuAD's JSON: sentences become candidates",
        read=read_spans,
        read_located=read_located_spans,
        write=None,
        holds=Holds(),
        is_stream=False,
    ),
    "qrels": Format(
        description="TREC's labels by question id and candidate id, without texts",
        extensions=(".qrels",),
        read=None,
        read_located=None,
        write=write_qrels,
        holds=Holds(
            unlabelled=False,
            empty_questions=False,
            question_metadata=_NOTHING,
            candidate_metadata=_NOTHING,
            text=lambda text: "",
        ),
    ),
}
READABLE_FORMATS: Final[tuple[str, ...]] = tuple(name for name, found in FORMATS.items() if found.read)
WRITABLE_FORMATS: Final[tuple[str, ...]] = tuple(name for name, found in FORMATS.items() if found.write)


def find_format(name: str) -> Format:
    """Return the format of this name; a UsageError lists the names there are.

    >>> find_format("jsonl").extensions
    ('.jsonl', '.ndjson', '.json')
    """
    if name in FORMATS:
        return FORMATS[name]
    near = get_close_matches(name.lower(), FORMATS, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"expected a format, got {name!r}: {hint}there are {', '.join(FORMATS)}")
