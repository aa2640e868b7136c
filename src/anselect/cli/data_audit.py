"""`anselect data audit`: are these files sound, and do training sets hold what models are tested on?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_note, print_rows
from anselect.data.audit import FileAudit, audit_files, group_findings
from anselect.data.finding import KINDS, Finding
from anselect.data.format_table import READABLE_FORMATS
from anselect.data.overlap import KINDS as OVERLAP_KINDS
from anselect.data.overlap import Overlap
from anselect.data.overlap_audit import EVALUATION_SETS, PairAudit, audit_overlaps
from anselect.errors import DataError, UsageError

COLUMNS = ("kind", "severity", "file", "line", "question_id", "candidate_id", "message")
TABLE_EXAMPLES = 3
PAIR_COLUMNS = ("train", "against", "questions", "candidates", *OVERLAP_KINDS)
OVERLAP_COLUMNS = (
    *("kind", "train", "against", "question_id", "candidate_id", "train_question_id", "train_candidate_id"),
    *("similarity", "text"),
)


def audit(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files or folders; - is stdin.")
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Training data to compare: a data set, data/split or a file; repeatable."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Held-out data, as for --train; by default dev and test of {', '.join(EVALUATION_SETS)}.",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
    input_format: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(READABLE_FORMATS)}; detected by default.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="One split of a data set or of a YahooCQA file; by default all of a data set's.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 5 if there is any defect.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help=f"Findings shown per kind and file; by default {TABLE_EXAMPLES} in a table, else all."
        ),
    ] = None,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Look for what would mislead training or evaluation, in each file and between the files.

    Give the splits of a data set together, training first: what a later file shares with an earlier one is a leak.
    With --train and --against: which held-out questions and candidates stand in the training data, even nearly.
    """
    if train or against:
        if split:
            raise UsageError("expected data/split with --train and --against, got --split: write wikiqa/train")
        if files:
            raise UsageError("expected files or --train and --against, got both: audit them one after the other")
        _audit_overlaps(audit_overlaps(train or (), against or (), data_dir=data_dir), limit, output_format, strict)
        return
    if not files:
        raise UsageError("expected files to audit, or --train and --against, got none")
    if len(set(files)) < len(files):
        raise UsageError("expected every file once, got one twice: a file leaks into itself")
    audits = audit_files(files, input_format=input_format, split=split, data_dir=data_dir)
    _print_audits(audits, strict, limit, output_format)


def _print_audits(audits: Sequence[FileAudit], strict: bool, limit: int | None, output_format: OutputFormat) -> None:
    groups = group_findings(audits)
    if output_format is OutputFormat.table:
        _print_tables(groups, TABLE_EXAMPLES if limit is None else limit)
    else:
        print_rows([_row(finding) for found in groups.values() for finding in found[:limit]], COLUMNS, output_format)
    _print_sizes(audits)
    defects = sum(audited.defects for audited in audits)
    if strict and defects:
        raise DataError(f"expected sound files, got {defects:,} defects: see above, or leave out --strict")


def _audit_overlaps(audits: Sequence[PairAudit], limit: int | None, output_format: OutputFormat, strict: bool) -> None:
    if output_format is OutputFormat.table:
        rows = [_pair_row(audited) for audited in audits if audited.overlaps]
        if rows:
            print_rows(rows, PAIR_COLUMNS, output_format)
    else:
        found = [_overlap_row(audited, overlap) for audited in audits for overlap in _limited(audited, limit)]
        print_rows(found, OVERLAP_COLUMNS, output_format)
    total = sum(len(audited.overlaps) for audited in audits)
    sound = sum(not audited.overlaps for audited in audits)
    print_note(f"{len(audits):,} pairs of training and held-out data compared, {sound:,} of them share nothing")
    if strict and total:
        raise DataError(f"expected nothing in common, got {total:,} shared texts: see above, or leave out --strict")


def _limited(audited: PairAudit, limit: int | None) -> list[Overlap]:
    """Keep at most `limit` overlaps of each kind."""
    return [
        overlap
        for kind in OVERLAP_KINDS
        for overlap in [each for each in audited.overlaps if each.kind == kind][:limit]
    ]


def _pair_row(audited: PairAudit) -> dict[str, Any]:
    sizes = {"questions": audited.questions, "candidates": audited.candidates}
    return {"train": audited.train, "against": audited.against, **sizes, **audited.counts}


def _overlap_row(audited: PairAudit, overlap: Overlap) -> dict[str, Any]:
    return {
        "kind": overlap.kind,
        "train": audited.train,
        "against": audited.against,
        "question_id": overlap.held_out.question_id,
        "candidate_id": overlap.held_out.candidate_id,
        "train_question_id": overlap.train.question_id,
        "train_candidate_id": overlap.train.candidate_id,
        "similarity": round(overlap.similarity, 4),
        "text": overlap.held_out.text,
    }


def _print_tables(groups: Mapping[tuple[str, str], Sequence[Finding]], limit: int) -> None:
    summary = [
        {"kind": kind, "severity": KINDS[kind].value, "file": file, "count": len(found)}
        for (kind, file), found in groups.items()
    ]
    if summary:
        print_rows(summary, ("kind", "severity", "file", "count"), OutputFormat.table)
    for (kind, _), found in groups.items():
        for finding in found[:limit]:
            ids = " ".join(each for each in (finding.question_id, finding.candidate_id) if each)
            typer.echo(f"{finding.place}: {kind}: {ids + ': ' if ids else ''}{finding.message}")
        if 0 < limit < len(found):
            typer.echo(f"  … and {len(found) - limit:,} more like this")


def _print_sizes(audits: Sequence[FileAudit]) -> None:
    for audited in audits:
        remarks = len(audited.findings) - audited.defects
        print_note(
            f"{audited.file}: {audited.questions:,} questions, {audited.candidates:,} candidates, "
            f"{audited.defects:,} defects, {remarks:,} remarks"
        )


def _row(finding: Finding) -> dict[str, Any]:
    return {column: getattr(finding, column) for column in COLUMNS}
