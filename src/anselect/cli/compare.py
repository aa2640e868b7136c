"""`anselect compare`: how much runs differ, how sure that is, and on which questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Annotated, Any

import typer

from anselect.cli.output import OutputFormat, print_json, print_note, print_rows, print_table, print_warning
from anselect.data.protocols import Protocol, default_protocol, find_protocol, protocols_for
from anselect.errors import UsageError
from anselect.evaluation.compare import (
    ComparedRun,
    Comparison,
    ComparisonSettings,
    PairComparison,
    QuestionContrast,
    RunOnQuestion,
    compare_scores,
    read_compared_runs,
)
from anselect.evaluation.labelled_data import LabelledData, read_labelled_questions
from anselect.evaluation.run_scores import RunScores
from anselect.evaluation.significance import RESAMPLES

SHOWN_CHARACTERS = 90
SMALLEST_SHOWN_P = 0.0001
PAIR_COLUMNS = [
    *("run", "minus", "difference", "95 % interval"),
    *("p t-test", "Holm", "p random.", "Holm", "wins", "losses", "ties"),
]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="TREC runs, tables question_id⇥candidate_id⇥score, folders of trained runs, -, or baselines (BM25).",
        ),
    ],
    data: Annotated[str, typer.Option(help="A data set's name, or a file of labelled questions.")],
    split: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    protocol: Annotated[str | None, typer.Option(help="Evaluation rules; the data set's usual ones if absent.")] = None,
    measure: Annotated[str, typer.Option(help="MAP, MRR, P@k, R@k or nDCG@k.")] = "MAP",
    baseline: Annotated[
        str | None, typer.Option(help="Compare every run with this one only, not each with each; added if absent.")
    ] = None,
    wins: Annotated[int, typer.Option(min=0, help="How many of the questions that differ most to show.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn by chance.")] = 0,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="How many times it is drawn.")] = RESAMPLES,
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = OutputFormat.table,
) -> None:
    """Compare runs: paired tests, intervals, and the questions they win and lose.

    \b
    Examples:
      anselect compare old.trec new.trec --data wikiqa --split test --protocol 243
      anselect compare new.trec --baseline BM25 --data my-questions.jsonl --measure MRR --format json
    """
    labelled = read_labelled_questions(data, split, data_dir=data_dir)
    rules = _choose_protocol(protocol, labelled.name)
    runs, baseline = [_run_file(run, split) for run in runs], _run_file(baseline, split) if baseline else None
    names = [*runs] if baseline is None or baseline in runs else [baseline, *runs]
    found = read_compared_runs(names, labelled.questions)
    settings = ComparisonSettings(measure, baseline, most_different=wins, seed=seed, resamples=resamples)
    scores = {name: run.scores for name, run in found.items()}
    comparison = compare_scores(labelled.questions, scores, protocol=rules, settings=settings)
    _print_notes(comparison, found)
    _print_comparison(comparison, labelled, found, output_format)


def _run_file(name: str, split: str) -> str:
    """Return the ranking that a training left in its folder, or the name itself if it is no such folder."""
    file = Path(name) / f"{split}.trec"
    return str(file) if file.is_file() else name


def _choose_protocol(name: str | None, data: str | None) -> Protocol:
    if name == "all":
        fitting = ", ".join(protocol.name for protocol in protocols_for(data))
        raise UsageError(f"expected one protocol to compare under, got 'all': use {fitting}")
    return find_protocol(name, data=data) if name else default_protocol(data)


def _print_notes(comparison: Comparison, found: Mapping[str, RunScores]) -> None:
    for name, run in found.items():
        if run.missing:
            print_warning(f"{name}: {run.missing_note}")
    if comparison.protocol.warning:
        print_warning(f"protocol '{comparison.protocol.name}': {comparison.protocol.warning}")
    print_note(
        f"{len(comparison.question_ids)} questions count under protocol '{comparison.protocol.name}': one of them that "
        f"goes from 0 to 1 moves {comparison.settings.measure} by {comparison.resolution:.4f}"
    )


def _print_comparison(
    comparison: Comparison, labelled: LabelledData, found: Mapping[str, RunScores], output_format: OutputFormat
) -> None:
    if output_format is OutputFormat.json:
        print_json(_document(comparison, labelled, found))
    elif output_format is OutputFormat.table:
        _print_tables(comparison)
    else:
        rows = [_pair_row(pair) for pair in comparison.pairs]
        if output_format is OutputFormat.tsv:  # print_rows would cut small p-values down to 0.0000
            rows = [{key: repr(cell) if isinstance(cell, float) else cell for key, cell in row.items()} for row in rows]
        print_rows(rows, list(rows[0]), output_format)


def _document(comparison: Comparison, labelled: LabelledData, found: Mapping[str, RunScores]) -> dict[str, Any]:
    return {
        "data": labelled.source,
        "split": labelled.split,
        "protocol": comparison.protocol.name,
        "measure": comparison.settings.measure,
        "questions": len(comparison.question_ids),
        "resolution": comparison.resolution,
        "seed": comparison.settings.seed,
        "resamples": comparison.settings.resamples,
        "runs": [
            {
                "run": run.name,
                "value": run.measure.value,
                "worst": run.measure.worst,
                "best": run.measure.best,
                "tied_pairs": run.tied_pairs,
                "missing": len(found[run.name].missing),
            }
            for run in comparison.runs
        ],
        "comparisons": [_pair_row(pair) for pair in comparison.pairs],
        "most_different": [_contrast_row(contrast) for contrast in comparison.contrasts],
        "per_question": [
            {"question_id": question_id, "values": {name: values[place] for name, values in comparison.values.items()}}
            for place, question_id in enumerate(comparison.question_ids)
        ],
    }


def _pair_row(pair: PairComparison) -> dict[str, Any]:
    difference = pair.difference
    return {
        "run": pair.run,
        "baseline": pair.baseline,
        "difference": difference.mean,
        "low": difference.interval.low if difference.interval else None,
        "high": difference.interval.high if difference.interval else None,
        "p_t_test": difference.t_test,
        "p_t_test_holm": pair.t_test_holm,
        "p_randomisation": difference.randomisation.p,
        "p_randomisation_holm": pair.randomisation_holm,
        "is_exact": difference.randomisation.is_exact,
        "wins": difference.wins,
        "losses": difference.losses,
        "ties": difference.ties,
    }


def _contrast_row(contrast: QuestionContrast) -> dict[str, Any]:
    return {
        "question_id": contrast.question_id,
        "question": contrast.question,
        "runs": [
            {
                "run": each.run,
                "value": each.value,
                "answer_rank": each.answer_rank,
                "top": {
                    "candidate_id": each.top.id,
                    "text": each.top.text,
                    "is_correct": each.top.is_correct,
                    "tied": each.top.tied,
                    "tied_correct": each.top.correct,
                },
            }
            for each in contrast.runs
        ],
    }


def _print_tables(comparison: Comparison) -> None:
    measure = comparison.settings.measure
    print_table([_run_cells(run) for run in comparison.runs], ["run", measure, "worst", "best", "tied pairs"])
    print_table([_pair_cells(pair) for pair in comparison.pairs], PAIR_COLUMNS)
    for contrast in comparison.contrasts:
        print_table(
            [_contrast_cells(each) for each in contrast.runs],
            ["run", measure, "answer at", "first is", "first candidate"],
            title=f"{contrast.question_id}: {_shorten(contrast.question)}",
        )


def _run_cells(run: ComparedRun) -> list[str]:
    return [run.name, *(f"{value:.4f}" for value in astuple(run.measure)), str(run.tied_pairs)]


def _pair_cells(pair: PairComparison) -> list[str]:
    difference = pair.difference
    interval = f"{difference.interval.low:+.4f} … {difference.interval.high:+.4f}" if difference.interval else "-"
    p_values = (difference.t_test, pair.t_test_holm, difference.randomisation.p, pair.randomisation_holm)
    counts = (difference.wins, difference.losses, difference.ties)
    return [pair.run, pair.baseline, f"{difference.mean:+.4f}", interval, *map(_show_p, p_values), *map(str, counts)]


def _contrast_cells(each: RunOnQuestion) -> list[str]:
    rank = "-" if each.answer_rank is None else f"{each.answer_rank:g}"
    verdict = {True: "correct", False: "wrong", None: f"{each.top.correct} of {each.top.tied} tied correct"}
    return [each.run, f"{each.value:.4f}", rank, verdict[each.top.is_correct], _shorten(each.top.text)]


def _show_p(p: float | None) -> str:
    if p is None:
        return "-"
    return f"<{SMALLEST_SHOWN_P}" if p < SMALLEST_SHOWN_P else f"{p:.4f}"


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
