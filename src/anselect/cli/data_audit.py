"""`anselect data audit`: are these files sound?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_note, print_rows
from anselect.data.audit import FileAudit, audit_files, group_findings
from anselect.data.finding import KINDS, Finding
from anselect.data.format_table import FORMATS
from anselect.errors import DataError, UsageError

COLUMNS = ("kind", "severity", "file", "line", "question_id", "candidate_id", "message")
TABLE_EXAMPLES = 3


def audit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders; - is stdin.")],
    input_format: Annotated[str | None, typer.Option(help=f"One of {', '.join(FORMATS)}; detected by default.")] = None,
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
    """
    if len(set(files)) < len(files):
        raise UsageError("expected every file once, got one twice: a file leaks into itself")
    audits = audit_files(files, input_format=input_format)
    groups = group_findings(audits)
    if output_format is OutputFormat.table:
        _print_tables(groups, TABLE_EXAMPLES if limit is None else limit)
    else:
        print_rows([_row(finding) for found in groups.values() for finding in found[:limit]], COLUMNS, output_format)
    _print_sizes(audits)
    defects = sum(audited.defects for audited in audits)
    if strict and defects:
        raise DataError(f"expected sound files, got {defects:,} defects: see above, or leave out --strict")


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
