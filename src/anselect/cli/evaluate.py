"""`anselect evaluate`: a run or a model in, its figures under named protocols out, beside baselines and papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_json, print_note, print_rows, print_table, print_warning
from anselect.cli.scores import scores_of
from anselect.data.catalogue import dataset_names
from anselect.data.protocols import PROTOCOLS, Protocol, default_protocol, find_protocol, protocols_for
from anselect.evaluation.labelled_data import read_labelled_questions
from anselect.evaluation.metrics import DEFAULT_MEASURES, Measure
from anselect.evaluation.per_question import write_per_question
from anselect.evaluation.report import Report, build_reports, warn_of_labels

ALL, HELP = "all", "help"
PUBLISHED_SHOWN = 5
MEASURES_BESIDE = 3


def _explain_protocols(value: str | None) -> str | None:
    if value == HELP:
        for protocol in PROTOCOLS.values():
            typer.echo(f"{protocol.name}\n  {protocol.summary}")
            typer.echo(f"  counts: {protocol.counting.value}; one without a correct candidate: {protocol.no_positive}")
            typer.echo(f"  ties: {protocol.ties.value}")
            typer.echo(f"  for: {', '.join(protocol.data_sets) or 'every data set'}")
            if protocol.warning:
                typer.echo(f"  WARNING: {protocol.warning}")
        raise typer.Exit
    return value


def evaluate(
    run: Annotated[
        Path,
        typer.Argument(
            help="TREC run or table question_id⇥candidate_id⇥score, - for stdin; a run's or model's folder, a Hub id."
        ),
    ],
    data: Annotated[str, typer.Option(help="Data set of the catalogue, or a file with labels.")],
    split: Annotated[str, typer.Option(help="Split of the data set.")] = "test",
    protocol: Annotated[
        str | None,
        typer.Option(
            callback=_explain_protocols, is_eager=True, help="Rules by name; 'all' that apply; 'help' lists them."
        ),
    ] = None,
    measures: Annotated[str, typer.Option(help="MAP, MRR, P@k, R@k, nDCG@k, with commas between.")] = ",".join(
        DEFAULT_MEASURES
    ),
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
    per_question: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a row per question: TSV, or JSONL by extension.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
) -> None:
    """Evaluate a run: MAP, MRR, P@1 and more, with what ties may change, baselines and published figures."""
    names = [name.strip() for name in measures.split(",")]
    for name in names:
        Measure.parse(name)
    protocols = _choose(protocol, data if data in dataset_names() else None)
    labelled = read_labelled_questions(data, split, data_dir=data_dir)
    run_scores = scores_of(run, labelled.questions)
    reports = build_reports(labelled, run_scores.scores, protocols, measures=names)
    _print_remarks(reports, [run_scores.missing_note], [warn_of_labels(labelled, run_scores.scores, protocols[0])])
    if per_question is not None:
        write_per_question(per_question, labelled.questions, [report.evaluation for report in reports])
    _print_reports(reports, output_format, is_list=protocol == ALL)


def _choose(protocol: str | None, data: str | None) -> Sequence[Protocol]:
    if protocol == ALL:
        return protocols_for(data)
    return [default_protocol(data) if protocol is None else find_protocol(protocol, data=data)]


def _print_remarks(reports: Sequence[Report], notes: Sequence[str], warnings: Sequence[str]) -> None:
    """Print on stderr what the figures alone do not tell."""
    skipped = [f"baseline {name} left out: {why}" for name, why in reports[0].skipped_baselines.items()]
    for note in filter(None, [*notes, *skipped]):
        print_note(note)
    flawed = [report.evaluation.protocol for report in reports if report.evaluation.protocol.warning]
    empty = [report.evaluation.protocol.name for report in reports if not report.evaluation.questions]
    nothing = f"no question counts under {', '.join(empty)}: the zeros there are no figures" if empty else ""
    for warning in filter(None, [nothing, *warnings, *(f"protocol {each.name} is {each.warning}" for each in flawed)]):
        print_warning(warning)


def _print_reports(reports: Sequence[Report], output_format: OutputFormat, *, is_list: bool) -> None:
    if output_format is OutputFormat.json:
        print_json([report.as_json() for report in reports] if is_list else reports[0].as_json())
    elif output_format is OutputFormat.jsonl:
        for report in reports:
            typer.echo(json.dumps(report.as_json(), ensure_ascii=False))
    elif output_format is OutputFormat.tsv:
        rows = [row for report in reports for row in _measure_rows(report)]
        print_rows(rows, list(rows[0]), output_format)
    elif is_list:
        _print_protocols(reports)
    else:
        _print_report(reports[0])


def _measure_rows(report: Report) -> list[dict[str, Any]]:
    evaluation = report.evaluation
    return [
        {
            "data": report.data.source,
            "split": report.data.split,
            "protocol": evaluation.protocol.name,
            "questions": evaluation.questions,
            "measure": name,
            "value": value.value,
            "worst": value.worst,
            "best": value.best,
        }
        for name, value in evaluation.measures.items()
    ]


def _print_report(report: Report) -> None:
    typer.echo(_title(report))
    print_rows(_measure_rows(report), ("measure", "value", "worst", "best"), OutputFormat.table)
    typer.echo("Rankings that learn nothing")
    baselines = [{"baseline": name, **_means(report, name)} for name in report.baselines]
    print_rows(baselines, ("baseline", "MAP", "MRR"), OutputFormat.table)
    _print_published(report)


def _title(report: Report) -> str:
    evaluation = report.evaluation
    return (
        f"{report.data.source} {report.data.split}, protocol {evaluation.protocol.name}: "
        f"{evaluation.questions} questions, {evaluation.candidates} candidates, {evaluation.tied_pairs} tied pairs"
    )


def _means(report: Report, baseline: str) -> dict[str, float]:
    return {name: value.value for name, value in report.baselines[baseline].items()}


def _print_published(report: Report) -> None:
    if not report.published:
        return
    cells = [
        [figure.paper, figure.system, f"{figure.map:.3f}", f"{figure.mrr:.3f}", figure.protocol or "not known"]
        for figure in report.published[:PUBLISHED_SHOWN]
    ]
    typer.echo(f"Published, best {len(cells)} of {len(report.published)} (all with --format json)")
    print_table(cells, ("paper", "system", "MAP", "MRR", "protocol, as believed"))


def _print_protocols(reports: Sequence[Report]) -> None:
    """Print one line per protocol: the first measures, what ties may do to the first, what a constant scorer gets."""
    typer.echo(f"{reports[0].data.source} {reports[0].data.split} under every protocol that applies")
    rows = [_protocol_row(report) for report in reports]
    print_rows(rows, list(rows[0]), OutputFormat.table)


def _protocol_row(report: Report) -> dict[str, Any]:
    evaluation = report.evaluation
    names = list(evaluation.measures)[:MEASURES_BESIDE]
    first = evaluation.measures[names[0]]
    return {
        "protocol": evaluation.protocol.name,
        "questions": evaluation.questions,
        **{name: evaluation.measures[name].value for name in names},
        f"{names[0]} worst": first.worst,
        f"{names[0]} best": first.best,
        **{f"constant {name}": value for name, value in _means(report, "constant").items()},
        "ties": evaluation.protocol.ties.name.replace("_", " "),
    }
