"""Finished runs in, their small records out, to keep in the repository: `python -m anselect.experiments.keep RUN…`.

Weights and checkpoints stay behind. Absolute paths become bare names: they would say nothing elsewhere.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anselect.config import check_recipe, recipe_to_toml
from anselect.data.files import write_bytes, write_text
from anselect.data.locate import read_split
from anselect.data.protocols import protocols_for
from anselect.errors import AnselectError, MissingFileError, UsageError
from anselect.evaluation.labelled_data import LabelledData
from anselect.evaluation.report import build_reports
from anselect.experiments.kept_records import BASELINES_FILE, SPLITS, read_baselines, read_kept_runs
from anselect.training.run_folder import RunFolder, read_recipe

SOURCE: Final = Path(__file__).parent.parent


def keep_run(run: Path, results: Path, *, name: str = "", commit: str = "") -> Path:
    """Copy a finished run's records to `results/NAME`; return that folder. The same run again changes nothing.

    Without a name the run's folder gives one. Raises UsageError where another run has it, MissingFileError for a run
    that is not finished.
    """
    source = RunFolder(run)
    if not source.is_finished:
        raise MissingFileError(f"{run}: expected a finished run with metrics.json, there is none: train it to the end")
    recipe = check_recipe(_portable(read_recipe(source).model_dump()), source=str(source.recipe))
    metrics = _portable(json.loads(source.metrics.read_text(encoding="utf-8")))
    target = results / (name or _default_name(run, recipe.training.seed))
    if (target / "metrics.json").is_file() and json.loads((target / "metrics.json").read_text("utf-8")) != metrics:
        raise UsageError(f"{target}: holds the records of another run: give this one another --name")
    environment = _portable(json.loads(source.environment.read_text(encoding="utf-8")))
    _write_json(target / "environment.json", {**environment, **_commit(environment, commit)})
    with write_text(target / "recipe.toml") as file:
        file.write(recipe_to_toml(recipe))
    for split in SPLITS:
        if source.ranking(split).is_file():
            _write_gzip(target / f"{split}.trec.gz", source.ranking(split).read_bytes())
    # Last, as in a run's own folder: what has it is whole.
    _write_json(target / "metrics.json", metrics)
    return target


def keep_baselines(results: Path, *, data_dir: Path | None = None) -> list[str]:
    """Measure the baselines of each data set among the kept runs, where it is at hand; return what was not."""
    known, missing = read_baselines(results), []
    for data in sorted({run.data for run in read_kept_runs(results) if run.data is not None}):
        for split in SPLITS:
            try:
                known.setdefault(data, {})[split] = _measure_baselines(data, split, data_dir)
            except MissingFileError as error:
                missing.append(str(error))
    _write_json(results / BASELINES_FILE, known)
    return missing


def _measure_baselines(data: str, split: str, data_dir: Path | None) -> dict[str, Any]:
    questions = read_split(data, split, data_dir=data_dir)
    flat = [[0.0] * len(question.candidates) for question in questions]
    protocols = [protocol for protocol in protocols_for(data) if not protocol.warning]
    reports = build_reports(LabelledData(data, data, split, questions), flat, protocols)
    return {
        report.evaluation.protocol.name: {
            "questions": report.evaluation.questions,
            "baselines": {
                name: {measure: value.value for measure, value in values.items()}
                for name, values in report.baselines.items()
            },
        }
        for report in reports
    }


def _default_name(run: Path, seed: int) -> str:
    """Return a name that tells system and seed: `reproduce` has folders RECIPE/ENCODER/DATA/seedN."""
    parts = run.resolve().parts
    name = "-".join(parts[-4:]) if parts[-1] == f"seed{seed}" else parts[-1]
    return name if name.endswith(f"-seed{seed}") else f"{name}-seed{seed}"


def _portable(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Replace absolute paths by their last part, in keys and values."""
    if isinstance(value, Mapping):
        return {_portable(key): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _commit(environment: Mapping[str, Any], commit: str) -> dict[str, str]:
    """Return the commit of a run: what it recorded, what the caller says, or the one at hand when it is kept."""
    if commit:
        return {"commit": commit}
    if "commit" in environment:
        return {}
    found = _git("rev-parse", "--short=12", "HEAD")
    return {"commit_when_kept": found} if found else {}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _write_gzip(path: Path, content: bytes) -> None:
    # Without a time in the header the same run gives the same bytes.
    with write_bytes(path) as file:
        file.write(gzip.compress(content, mtime=0))


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with write_text(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False, sort_keys=False)
        file.write("\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep the runs named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m anselect.experiments.keep", description="Keep runs' records.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished run")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where the records go")
    parser.add_argument("--name", default="", help="the record's name, SYSTEM-seedN; for a single run")
    parser.add_argument("--commit", default="", help="the commit that the runs were trained at")
    parser.add_argument("--data-dir", type=Path, help="where the data sets lie")
    options = parser.parse_args(arguments)
    try:
        if options.name and len(options.runs) > 1:
            raise UsageError("expected --name with a single run, got several: name them one by one")
        for run in options.runs:
            kept = keep_run(run, options.results, name=options.name, commit=options.commit)
            sys.stderr.write(f"note: kept {kept}\n")
        for missing in keep_baselines(options.results, data_dir=options.data_dir):
            sys.stderr.write(f"note: no baselines: {missing}\n")
    except AnselectError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
