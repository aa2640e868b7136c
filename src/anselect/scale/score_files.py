"""A file of questions and candidates in, the same rows with score and rank out: streamed, in order, resumable."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from anselect.data.files import STDIN, write_bytes
from anselect.data.formats.parquet import import_pyarrow
from anselect.data.reading import detect_format, detect_output_format
from anselect.errors import UsageError
from anselect.records import Question, ScoredQuestions
from anselect.scale.row_groups import FORMATS, Group, RowGroups, open_groups
from anselect.scale.score_journal import PartFile, describe_input
from anselect.scale.scored_rows import RowWriter, write_parquet_rows

logger = logging.getLogger(__name__)

CHUNK_ROWS: Final = 2_048
"""Rows scored and written at a time, more where one question has more."""


class Selector(Protocol):
    """What scores: an AnswerSelector is one."""

    @property
    def description(self) -> str:
        """One line on what ranks."""

    def score_questions(self, questions: list[Question]) -> ScoredQuestions:
        """Return one score per candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How a file is scored."""

    input_format: str | None = None
    """None: detected."""
    output_format: str | None = None
    """None: by the output's ending; for stdout the input's format."""
    model_key: str = ""
    """What else tells the model from another, beside its description: a scoring goes on only with the same."""
    chunk_rows: int = CHUNK_ROWS
    progress: Callable[[int], None] | None = None
    """Called with the number of rows that are finished."""


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """What was done."""

    rows: int
    questions: int
    """Groups of rows: a question that comes back later counts again."""
    resumed_rows: int
    """Rows that an earlier run had finished."""
    cut_candidates: int
    """Candidates of this run that were longer than the ranker reads."""


def score_file(selector: Selector, source: Path, target: Path, options: ScoreOptions | None = None) -> ScoredFile:
    """Score every row of `source` and write it to `target` with score and rank (within its question) added.

    Rows keep their order. Finished chunks stand in `<target>.part` with a journal beside it: run again after a kill
    or an error, it goes on behind them if input, model and formats are the same, else from the start with a warning.
    `-` is stdin or stdout; then nothing is kept. Raises DataError with the line of a row that cannot be read.
    """
    options = options or ScoreOptions()
    if STDIN not in (source, target) and source.exists() and target.exists() and target.samefile(source):
        raise UsageError(f"expected another file to write to, got {target} twice: name a new one")
    source_format = options.input_format or detect_format(source)
    target_format = _output_format(source, target, source_format, options)
    scoring = _Scoring(selector, source, options)
    opened = open_groups(source, source_format)
    writer = RowWriter(target_format, opened.names, is_zipped=target.suffix == ".gz")
    if STDIN in (source, target):
        return scoring.stream(opened, writer, target)
    job = {
        "input": describe_input(source),
        "model": [selector.description, options.model_key],
        "format": [source_format, target_format, options.chunk_rows],
    }
    with PartFile(target, job) as part:
        scored = scoring.resume(opened, writer, part)
        if target_format == "parquet":
            write_parquet_rows(part.path, target, opened.names)
        else:
            part.path.replace(target)
        part.discard()
    return scored


class _Scoring:
    """Scores the groups of one file chunk by chunk."""

    def __init__(self, selector: Selector, source: Path, options: ScoreOptions) -> None:
        self._selector, self._source, self._options = selector, source, options
        self._cut = 0

    def resume(self, opened: RowGroups, writer: RowWriter, part: PartFile) -> ScoredFile:
        if part.begun_anew:
            logger.warning("%s: begun anew: %s", part.path, part.begun_anew)
        resumed = part.done.rows
        if not part.done.part_bytes:
            part.add(writer.header(), groups=0, rows=0)
        for groups in self._chunks(islice(opened.groups, part.done.groups, None)):
            content = self._scored(groups, writer)
            part.add(content, groups=len(groups), rows=_count_rows(groups))
            self._tell(part.done.rows)
        return ScoredFile(part.done.rows, part.done.groups, resumed, self._cut)

    def stream(self, opened: RowGroups, writer: RowWriter, target: Path) -> ScoredFile:
        rows = questions = 0
        with _open_stream(target) as file:
            file.write(writer.header())
            for groups in self._chunks(opened.groups):
                file.write(self._scored(groups, writer))
                file.flush()
                rows, questions = rows + _count_rows(groups), questions + len(groups)
                self._tell(rows)
        return ScoredFile(rows, questions, 0, self._cut)

    def _chunks(self, groups: Iterable[Group]) -> Iterator[list[Group]]:
        """Gather whole groups until there are rows enough; the borders depend on the file alone."""
        held: list[Group] = []
        rows = 0
        for group in groups:
            held.append(group)
            rows += len(group.records)
            if rows >= self._options.chunk_rows:
                yield held
                held, rows = [], 0
        if held:
            yield held

    def _scored(self, groups: list[Group], writer: RowWriter) -> bytes:
        scored = self._selector.score_questions([group.question for group in groups])
        self._cut += scored.cut_candidates
        scores = [[float(score) for score in own] for own in scored.scores]
        return writer.chunk(groups, scores, self._source)

    def _tell(self, rows: int) -> None:
        if self._options.progress is not None:
            self._options.progress(rows)


def _count_rows(groups: Iterable[Group]) -> int:
    return sum(len(group.records) for group in groups)


def _output_format(source: Path, target: Path, source_format: str, options: ScoreOptions) -> str:
    found = options.output_format or (source_format if target == STDIN else detect_output_format(target))
    if found not in FORMATS:
        raise UsageError(f"expected an output format among {', '.join(FORMATS)}, got {found}")
    if found == "parquet":
        import_pyarrow()  # Its absence is told now, not after hours of scoring.
        if STDIN in (source, target) or target.suffix == ".gz":
            raise UsageError(f"expected plain files to make parquet, got '{source}' and '{target}'")
    return found


@contextmanager
def _open_stream(target: Path) -> Iterator[BinaryIO]:
    if target == STDIN:
        yield sys.stdout.buffer
    else:
        with write_bytes(target) as file:
            yield file
