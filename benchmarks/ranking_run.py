"""The ranking benchmark from its options to its results; `benchmarks/ranking.py` starts it."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.cold_start import measure_cold_starts
from benchmarks.picture import save_picture
from benchmarks.ranking_cases import Case, own_question, read_cases, single_questions
from benchmarks.ranking_goals import describe, find_goals
from benchmarks.ranking_measures import count_tokens, latency_figures, measure_case, measure_latency, speed_figures
from benchmarks.ranking_models import Prepared, engine_facts, prepare_models
from benchmarks.ranking_peak import measure_peaks
from benchmarks.ranking_processes import SideProcess
from benchmarks.ranking_sides import SIDES

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers", "sentence-transformers", "openvino", "numpy")
BACKENDS = {
    "sentence-transformers' ONNX backend": "tried on 2026-11-16: optimum-onnx 0.1.0 needs transformers < 4.58, "
    "sentence-transformers 6.2 needs 5.0 or later; ONNX Runtime is measured on the traced model instead",
    "sentence-transformers' OpenVINO backend": "tried on 2026-11-16: optimum-intel needs transformers < 5.6 and began "
    "to download another torch, so that it was stopped; OpenVINO is measured on the traced model where installed",
}
"""Why the best known peers are measured without their wrapper; not tried again in each run."""


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Rank with Anselect and with others, in turns on the same pairs.")
    parser.add_argument("--engine", type=Path, help="an engine folder; default: the bundled model")
    parser.add_argument(
        "--torch", type=Path, help="a run with the weights in 32 bits, for the other sides; default: the engine's own"
    )
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--pairs", type=int, help="so many pairs of each data set; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=20, help="single questions in a row, each round")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--work", type=Path, help="keep the other sides' models here; default: a temporary folder")
    parser.add_argument("--json", type=Path, help="write all figures")
    parser.add_argument("--picture", type=Path, help="draw them: a name in .svg or .png, both are written")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked for."""
    options = parse_options(arguments)
    facts = engine_facts(options.engine)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [side for side in options.sides if _is_installed(side)]
        prepared = prepare_models(wanted, options.torch, options.engine, options.work or Path(folder))
        result = measure(options, prepared)
    result = {"about": _about(options) | {"engine": facts}, **result}
    result["goals"] = [goal.as_json() for goal in find_goals(result)]
    print(describe(result))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.picture:
        save_picture(result, options.picture)


def measure(options: argparse.Namespace, prepared: Prepared) -> dict[str, Any]:
    """Run every case with every side that can be imported."""
    reasons = {side: f"{SIDES[side].package} is not installed" for side in options.sides if not _is_installed(side)}
    reasons |= prepared.failures
    sides = [side for side in options.sides if side not in reasons]
    cases = read_cases(pairs=options.pairs, data_dir=options.data_dir)
    own = own_question()
    singles = [own, single_questions(cases[0], limit=options.calls)]
    starts = measure_cold_starts(sides, prepared.folders, own, threads=options.threads, rounds=options.rounds)
    peaks = measure_peaks(threads=options.threads)
    with ExitStack() as stack:
        running = {
            side: stack.enter_context(SideProcess(side, prepared.folders[side], threads=options.threads))
            for side in sides
        }
        for process in running.values():
            process.ask(own.questions)  # loads and warms it up
        latency = [_measure_single(running, case, options) for case in singles if case.questions]
        speed = [_measure_case(running, case, options, prepared, peaks) for case in cases]
    return {
        "peaks": peaks,
        "cases": speed,
        "latency": latency,
        "cold_start": {side: asdict(start) for side, start in starts.items()},
        "not_measured": {SIDES[side].title: reason for side, reason in reasons.items()} | BACKENDS,
    }


def _measure_case(
    running: Mapping[str, SideProcess],
    case: Case,
    options: argparse.Namespace,
    prepared: Prepared,
    peaks: Mapping[str, float],
) -> dict[str, Any]:
    found = measure_case(running, case, rounds=options.rounds, note=_note)
    tokens = count_tokens(case, str(prepared.tokenizer))
    operations = sum(map(prepared.shape.operations, tokens))
    figures = speed_figures(case, found, operations=operations, peaks=peaks)
    return {
        "name": case.name,
        "protocol": case.protocol.name if case.protocol else None,
        "questions": len(case.questions),
        "pairs": case.pairs,
        "tokens_per_pair": sum(tokens) / max(1, len(tokens)),
        "sides": figures,
    }


def _measure_single(running: Mapping[str, SideProcess], case: Case, options: argparse.Namespace) -> dict[str, Any]:
    found = measure_latency(running, case, calls=options.calls, rounds=options.rounds)
    _note(f"{case.name}: measured")
    return {"name": case.name, "calls": options.calls * options.rounds, "sides": latency_figures(found)}


def _about(options: argparse.Namespace) -> dict[str, Any]:
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "date": str(date.today()),
        "processor": _processor(),
        "threads": options.threads,
        "load": os.getloadavg()[0],
        "rounds": options.rounds,
        "run": options.torch.name if options.torch else None,
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else platform.machine()


def _is_installed(side: str) -> bool:
    return importlib.util.find_spec(SIDES[side].package) is not None


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
