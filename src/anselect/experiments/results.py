"""Kept records in, docs/RESULTS.md out: `python -m anselect.experiments.results [--check]`.

The page is made from the records alone, so that it comes out the same without the data. `--check` re-evaluates the
stored rankings where the data is at hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

from anselect.data.files import file_sha256, write_text
from anselect.data.locate import read_split, split_source
from anselect.data.protocols import find_protocol, protocols_for
from anselect.engine.folder import BUNDLED
from anselect.errors import AnselectError, DataError, MissingFileError
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.published import published_figures
from anselect.experiments.kept_records import SPLITS, KeptRun, group_systems, read_baselines, read_kept_runs
from anselect.experiments.markdown import markdown_row
from anselect.experiments.stored_runs import read_stored_scores
from anselect.training.bundled.card import set_table

TOLERANCE: Final = 1e-9
MEASURES: Final = ("MAP", "MRR", "P@1")
UNSHOWN: Final = ("trec_eval",)
"""Protocols whose figures are for a tool's users, not for papers: kept in the records, not shown."""
HASH_SHOWN: Final = 12
INTRODUCTION: Final = """# Results
Made by `python -m anselect.experiments.results` from the records in `results/`; do not edit. Every figure is the mean
over seeds ± standard deviation. The epoch was chosen by dev MAP, the test split was ranked once after that. Published:
what the recipe's paper prints, with its own encoder. In italics: rankings that learn nothing. `--check` re-evaluates
the stored rankings. What a protocol counts: [evaluation.md](evaluation.md). Pictures: [systems on
WikiQA](figures/wikiqa-systems.svg), [their training](figures/wikiqa-training-curves.svg).
"""


def render_results(folder: Path, bundled: Path = BUNDLED) -> str:
    """Return the page that the records of a folder and of the bundled model give."""
    runs, baselines = read_kept_runs(folder), read_baselines(folder)
    parts = [INTRODUCTION]
    for data in sorted({run.data or "own files" for run in runs}):
        own = [run for run in runs if (run.data or "own files") == data]
        for protocol in _shown_protocols(own):
            parts.append(_section(data, protocol, own, baselines.get(data, {}).get("test", {}).get(protocol, {})))
    parts.append(_bundled_section(bundled))
    parts.append(_provenance(runs))
    return "\n".join(parts)


def check_results(folder: Path, *, data_dir: Path | None = None) -> tuple[list[str], list[str]]:
    """Re-evaluate every stored ranking; return what differs, and what could not be checked for want of its data."""
    differences: list[str] = []
    unchecked: list[str] = []
    for run in read_kept_runs(folder):
        for split in SPLITS:
            if not run.figures(split):
                continue
            try:
                differences += _differences(run, split, data_dir)
            except MissingFileError as error:
                unchecked.append(f"{run.name} {split}: {error}")
    return differences, unchecked


def _differences(run: KeptRun, split: str, data_dir: Path | None) -> Iterator[str]:
    if run.data is None:
        raise MissingFileError("trained on files outside the catalogue")
    for file in split_source(run.data, split, data_dir).files:
        recorded = run.metrics.get("data_files", {}).get(f"{run.data}/{file.path.name}")
        if recorded != file.sha256:
            raise MissingFileError(f"{file.path.name} at hand is not the file that the run read")
    if not run.run_file(split).is_file():
        raise DataError("expected the stored ranking, there is none: keep the run again", path=run.run_file(split))
    questions = read_split(run.data, split, data_dir=data_dir)
    scores = read_stored_scores(run.run_file(split), questions)
    for protocol, figures in run.figures(split).items():
        found = evaluate_scores(questions, scores, protocol=find_protocol(protocol), measures=list(figures)).measures
        for name, recorded in figures.items():
            if abs(found[name].value - recorded) > TOLERANCE:
                place = f"{run.name} {split} {protocol} {name}"
                yield f"{place}: recorded {recorded!r}, the ranking gives {found[name].value!r}"


def _shown_protocols(runs: Sequence[KeptRun]) -> list[str]:
    """Return the protocols that any run was measured under on test, in their usual order."""
    found = dict.fromkeys(protocol for run in runs for protocol in run.figures("test"))
    usual = [protocol.name for protocol in protocols_for(runs[0].data)]
    order = {name: place for place, name in enumerate(usual)}
    return sorted((name for name in found if name not in UNSHOWN), key=lambda name: (order.get(name, len(order)), name))


def _section(data: str, protocol: str, runs: Sequence[KeptRun], known: Mapping[str, Any]) -> str:
    counted = f", {known['questions']} questions" if known else ""
    lines = [f"## {data}, protocol {protocol}{counted}", ""]
    header = ["system", "seeds", "dev MAP", *(f"test {name}" for name in MEASURES), "published MAP", "published MRR"]
    lines += [markdown_row(header), markdown_row(["---"] + ["---:"] * (len(header) - 1))]
    rows = [_system_row(system, own, protocol) for system, own in group_systems(runs).items()]
    lines += [markdown_row(cells) for _, cells in sorted(rows, key=lambda row: (-row[0], row[1]))]
    baselines = sorted(known.get("baselines", {}).items(), key=lambda item: -item[1]["MAP"])
    for name, figures in baselines:
        lines.append(markdown_row([f"*{name}*", "", "", f"{figures['MAP']:.4f}", f"{figures['MRR']:.4f}", "", "", ""]))
    return "\n".join(lines) + "\n"


def _system_row(system: str, runs: Sequence[KeptRun], protocol: str) -> tuple[float, list[str]]:
    """Return the mean test MAP to sort by, and the cells."""
    measured = [run for run in runs if protocol in run.figures("test")]
    published = _published(runs[0], protocol)
    cells = [system, str(len(measured)), _mean_text(measured, "dev", protocol, "MAP")]
    cells += [_mean_text(measured, "test", protocol, name) for name in MEASURES]
    cells += [f"{value:.3f}" for value in published] if published else ["", ""]
    values = [run.figures("test")[protocol]["MAP"] for run in measured]
    return (fmean(values) if values else -1.0), cells


def _mean_text(runs: Sequence[KeptRun], split: str, protocol: str, measure: str) -> str:
    values = [run.figures(split)[protocol][measure] for run in runs if protocol in run.figures(split)]
    if not values:
        return "–"
    return f"{fmean(values):.4f}" + (f" ± {stdev(values):.4f}" if len(values) > 1 else "")


def _published(run: KeptRun, protocol: str) -> tuple[float, float] | None:
    """Return what the recipe's paper prints for its system, where it is believed to count in this way."""
    paper = run.recipe.paper
    for figure in published_figures(run.data, "test", find_protocol(protocol)):
        is_own = figure.paper.lower() == paper.key and figure.system == paper.system
        if is_own and figure.protocol in {None, protocol}:
            return figure.map, figure.mrr
    return None


def _bundled_section(folder: Path) -> str:
    """Return the bundled model's figures; they were measured when it was built, and stand beside it."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    about = [
        f"`anselect.load()`; sha256 of its `model.onnx` {metrics['sha256'][:HASH_SHOWN]}. Made by `make model`,",
        "measured again by `python -m anselect.experiments.bundled_model measure`; more in its",
        "[card](../src/anselect/bundled/ranker/README.md).",
    ]
    return "\n".join(["## The bundled model", "", *about, "", set_table(metrics["sets"])])


def _provenance(runs: Sequence[KeptRun]) -> str:
    header = ["run", "recipe", "encoder", "seed", "commit", "data files", "test ranking (sha256)"]
    lines = [
        "## Where the figures come from",
        "",
        f"sha256 values are cut to {HASH_SHOWN} digits; `results/` has them whole.",
    ]
    lines += ["", markdown_row(header), markdown_row(["---"] * len(header))]
    for run in runs:
        files = ", ".join(f"{name} {sha256[:HASH_SHOWN]}" for name, sha256 in run.metrics.get("data_files", {}).items())
        path = run.run_file("test")
        ranking = file_sha256(path)[:HASH_SHOWN] if path.is_file() else "–"
        lines.append(
            markdown_row(
                [run.name, run.recipe.name, run.recipe.model.encoder, str(run.seed), run.commit, files, ranking]
            )
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check records and page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m anselect.experiments.results", description="Make docs/RESULTS.md.")
    parser.add_argument("--runs", type=Path, default=Path("results"), help="folder of the kept records")
    parser.add_argument("--output", type=Path, default=Path("docs/RESULTS.md"), help="the page")
    parser.add_argument("--check", action="store_true", help="change nothing: re-evaluate rankings, compare the page")
    parser.add_argument("--data-dir", type=Path, help="where the data sets lie")
    options = parser.parse_args(arguments)
    try:
        page = render_results(options.runs)
        if options.check:
            return _check(options.runs, options.output, page, options.data_dir)
        with write_text(options.output) as file:
            file.write(page)
    except AnselectError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def _check(folder: Path, output: Path, page: str, data_dir: Path | None) -> int:
    differences, unchecked = check_results(folder, data_dir=data_dir)
    if not output.is_file() or output.read_text(encoding="utf-8") != page:
        differences.append(f"{output}: is not what the records give: make it anew without --check")
    for note in unchecked:
        sys.stderr.write(f"note: not checked: {note}\n")
    for difference in differences:
        sys.stderr.write(f"error: {difference}\n")
    return DataError.exit_code if differences else 0


if __name__ == "__main__":
    sys.exit(main())
