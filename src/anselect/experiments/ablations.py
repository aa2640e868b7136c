"""Kept records in, docs/ablations.md out: what one choice is worth where everything else was the same.

`python -m anselect.experiments.ablations [--output FILE]`. Systems belong together if their recipes differ in the
chosen key alone (and in what comes with it, as a batch counts questions in a listwise loss). Differences are tested
question by question; several seeds of a system are one, by the mean of their average precisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer

from anselect.config import Recipe
from anselect.data.files import write_text
from anselect.data.locate import read_split
from anselect.data.protocols import find_protocol
from anselect.evaluation.answer_types import values_by_answer_type
from anselect.evaluation.calibration import Numbers
from anselect.evaluation.evaluate import Evaluation, evaluate_scores
from anselect.evaluation.significance import paired_t_test
from anselect.experiments.kept_records import KeptRun, group_systems, read_kept_runs
from anselect.experiments.markdown import markdown_row
from anselect.experiments.stored_runs import read_stored_scores
from anselect.training.module_command import run_command

LEAST_P: Final = 0.0005
TYPES: Final = ("HUM", "LOC", "NUM", "ENTY", "DESC", "ABBR")
IGNORED: Final = {"name", "description", "training.seed", "training.checkpoint_steps"}
"""Keys that change no figure but by chance."""
INTRODUCTION: Final = """# What each choice is worth
Made by `python -m anselect.experiments.ablations` from the records in `results/`; do not edit. Systems stand together
whose recipes differ in the one key alone; above each table stands what tells it from the others of its kind. Test MAP
by the data set's usual protocol, the mean over seeds; the difference is to the first row over the seeds that both have,
p is that of a paired t-test over the questions (several seeds: the mean of their average precisions). One seed moves
test MAP by about 0.01 on WikiQA, whatever p says of its questions.
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@dataclass(frozen=True, slots=True)
class Ablation:
    """One choice."""

    title: str
    key: str
    follows: frozenset[str] = frozenset()
    """Keys that may change with it."""
    by_type: bool = False
    """Whether the answer types are shown one by one."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Two choices at once: one down, one across."""

    title: str
    rows: str
    columns: str


LOSS_KEYS: Final = frozenset({"training.batch_size", "training.negatives", "training.cross_entropy_weight"})
ABLATIONS: Final = (
    Ablation("Highlighting what the question asks for (BAS)", "text.highlight", by_type=True),
    Ablation("Heads", "model.head"),
    Ablation("Losses", "training.loss", LOSS_KEYS),
    Ablation("What training goes on from", "model.start"),
    Ablation("Questions and candidates in lower case", "text.lower_case"),
    Ablation("Penn Treebank tokens turned back into text", "data.detokenize"),
    Ablation("Training candidates of more words left out", "data.drop_long"),
    Ablation("Encoder layers over frozen features (CETE)", "model.encoder_layers"),
    Ablation("Products in 16 bits", "training.precision"),
)
GRIDS: Final = (Grid("Heads and highlighting together", "model.head", "text.highlight"),)


@dataclass(frozen=True, slots=True)
class System:
    """The runs of one system, question by question."""

    runs: Sequence[KeptRun]
    settings: Mapping[str, Any]
    """The recipe's keys, as section.key."""
    seeds: Mapping[int, Numbers]
    """Average precisions on test by seed."""
    types: Mapping[str, Numbers]
    """Their mean over seeds by expected answer type."""

    @property
    def values(self) -> Numbers:
        """Average precisions on test, the mean over seeds."""
        return _mean_over(self, self.seeds)

    def dev_map(self) -> float:
        """Return the mean over seeds of dev MAP."""
        return float(np.mean([run.figures("dev")[run.metrics["protocol"]]["MAP"] for run in self.runs]))


def read_systems(folder: Path, data_dir: Path | None = None) -> list[System]:
    """Read the kept systems whose test rankings there are."""
    kept = [run for run in read_kept_runs(folder) if run.data and run.run_file("test").is_file()]
    return [_read_system(runs, data_dir) for runs in group_systems(kept).values()]


def find_groups(systems: Sequence[System], ablation: Ablation) -> list[list[System]]:
    """Return the systems that differ in the ablation's key alone, its default first; groups of one are left out."""
    free = {ablation.key, *ablation.follows}
    groups = [_default_first(group, ablation.key) for group in _alike_but_for(systems, free)]
    return [group for group in groups if len({one.settings[ablation.key] for one in group}) > 1]


def find_grids(systems: Sequence[System], grid: Grid) -> list[dict[tuple[str, str], System]]:
    """Return systems by the values of two keys, where they differ in nothing else.

    A row without all columns is left out; there are two rows and two columns at least.
    """
    found = []
    for group in _alike_but_for(systems, {grid.rows, grid.columns}):
        cells = {(one.settings[grid.rows], one.settings[grid.columns]): one for one in group}
        rows, columns = ({key[axis] for key in cells} for axis in (0, 1))
        whole = {row for row in rows if all((row, column) in cells for column in columns)}
        if min(len(whole), len(columns)) > 1:
            found.append({key: system for key, system in cells.items() if key[0] in whole})
    return found


def find_fine_tuned(systems: Sequence[System]) -> list[tuple[System, System]]:
    """Return the best system on each encoder's frozen features and the best fine-tuned one, each by dev MAP.

    What went on from another training does not count.
    """
    best: dict[tuple[str, str], dict[str, System]] = defaultdict(dict)
    for system in sorted(systems, key=System.dev_map):
        settings = system.settings
        if not settings["model.start"] and settings["model.features"] == "encoder":
            best[settings["data.name"], _encoder(system)][settings["model.kind"]] = system
    return [(kinds["siamese"], kinds["cross-encoder"]) for _, kinds in sorted(best.items()) if len(kinds) > 1]


def flatten(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe's keys as section.key.

    >>> flatten(Recipe(name="mine"))["training.loss"]
    'cross-entropy'
    """
    found: dict[str, Any] = {}
    for name, value in recipe.model_dump().items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": own for key, own in value.items()}
        else:
            found[name] = value
    return found


def render(systems: Sequence[System], ablations: Sequence[Ablation] = ABLATIONS, grids: Sequence[Grid] = GRIDS) -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for grid in grids:
        parts += [_grid_section(grid, cells) for cells in find_grids(systems, grid)]
    for ablation in ablations:
        groups = find_groups(systems, ablation)
        if groups:
            parts.append(_section(ablation, groups))
    pairs = find_fine_tuned(systems)
    if pairs:
        parts.append(_fine_tuning_section(pairs))
    return "\n".join(parts)


def _read_system(runs: Sequence[KeptRun], data_dir: Path | None) -> System:
    name = runs[0].recipe.data.name
    questions = read_split(name, "test", data_dir=data_dir)
    protocol = find_protocol(runs[0].metrics["protocol"])
    found: list[Evaluation] = []
    for run in runs:
        scores = read_stored_scores(run.run_file("test"), questions)
        found.append(evaluate_scores(questions, scores, protocol=protocol, measures=("MAP",)))
    by_type = [values_by_answer_type(each, questions) for each in found]
    return System(
        runs,
        flatten(runs[0].recipe),
        {run.recipe.training.seed: each.values["MAP"] for run, each in zip(runs, found, strict=True)},
        {kind: np.mean([each[kind] for each in by_type], axis=0) for kind in by_type[0]},
    )


def _alike_but_for(systems: Sequence[System], free: Set[str]) -> list[list[System]]:
    """Put systems together whose settings are equal but for some keys."""
    groups: dict[str, list[System]] = defaultdict(list)
    for system in systems:
        groups[repr(_fixed(system, free))].append(system)
    return list(groups.values())


def _fixed(system: System, free: Set[str]) -> dict[str, Any]:
    left_out = free | IGNORED
    return {
        key: value for key, value in system.settings.items() if key not in left_out and not key.startswith("paper.")
    }


def _default_first(group: Sequence[System], key: str) -> list[System]:
    default = flatten(Recipe(name=""))[key]
    return sorted(group, key=lambda one: (one.settings[key] != default, str(one.settings[key])))


def _section(ablation: Ablation, groups: Sequence[Sequence[System]]) -> str:
    fixed = [_fixed(group[0], {ablation.key, *ablation.follows}) for group in groups]
    types = [kind for kind in TYPES if ablation.by_type and all(kind in one.types for group in groups for one in group)]
    header = [f"`{ablation.key}`", "seeds", "dev MAP", "test MAP", "difference", "p", *types]
    lines = [f"## {ablation.title}"]
    for group, settings in zip(groups, fixed, strict=True):
        alike = [each for each in fixed if each["data.name"] == settings["data.name"]]
        varied = ["model.kind"] if len({each["model.kind"] for each in alike}) > 1 else []
        # What else differs between two kinds of model goes with the kind.
        alike = [each for each in alike if each["model.kind"] == settings["model.kind"]]
        varied += [key for key in settings if len({repr(each[key]) for each in alike}) > 1]
        where = ", ".join(f"{key.split('.')[-1]} {settings[key]}" for key in varied)
        lines += ["", f"{settings['data.name']}{f': {where}' if where else ''}", "", *_table_head(header)]
        for system in group:
            cells = [_value(system.settings[ablation.key]), str(len(system.runs)), f"{system.dev_map():.4f}"]
            cells += [f"{system.values.mean():.4f}", *_system_difference(system, group[0])]
            lines.append(markdown_row(cells + [f"{system.types[kind].mean():.3f}" for kind in types]))
    return "\n".join(lines) + "\n"


def _grid_section(grid: Grid, cells: Mapping[tuple[str, str], System]) -> str:
    """Return a table of test MAP, and what each column is worth over all rows together."""
    first = next(iter(cells.values()))
    group = list(cells.values())
    rows, columns = (
        list(dict.fromkeys(one.settings[key] for one in _default_first(group, key)))
        for key in (grid.rows, grid.columns)
    )
    lines = [f"## {grid.title}", "", f"{first.settings['data.name']}: test MAP, in brackets dev MAP", ""]
    lines += _table_head([f"`{grid.rows}`, `{grid.columns}`", *map(_value, columns)])
    for row in rows:
        own = [cells[row, column] for column in columns]
        lines.append(markdown_row([_value(row), *(f"{one.values.mean():.4f} ({one.dev_map():.4f})" for one in own)]))
    of_columns = [[cells[row, column] for row in rows] for column in columns]
    lines.append(_column_means("mean", [[one.values for one in own] for own in of_columns]))
    lines += ["", "The same by expected answer type: means over all rows", ""]
    lines += _table_head(["type", *map(_value, columns)])
    for kind in (kind for kind in TYPES if kind in first.types):
        lines.append(_column_means(kind, [[one.types[kind] for one in own] for own in of_columns]))
    return "\n".join(lines) + "\n"


def _column_means(name: str, columns: Sequence[Sequence[Numbers]]) -> str:
    """Return a row of means over systems, and what each column is worth against the first."""
    first, *others = (np.mean(own, axis=0) for own in columns)
    cells = [f"{first.mean():.4f}"]
    for mean in others:
        difference, p_value = _difference(mean, first)
        cells.append(f"{mean.mean():.4f} ({difference}, p {p_value})")
    return markdown_row([name, *cells])


def _fine_tuning_section(pairs: Sequence[tuple[System, System]]) -> str:
    header = ["data, encoder", "features", "test MAP", "fine-tuned", "test MAP", "difference", "p"]
    lines = [
        "## Fine-tuning against frozen features (CETE)",
        "",
        "The best of each by dev MAP.",
        "",
        *_table_head(header),
    ]
    for frozen, tuned in pairs:
        cells = [f"{frozen.settings['data.name']}, {_encoder(frozen)}"]
        for system in (frozen, tuned):
            cells += [system.runs[0].system, f"{system.values.mean():.4f}"]
        lines.append(markdown_row(cells + _difference(tuned.values, frozen.values)))
    return "\n".join(lines) + "\n"


def _encoder(system: System) -> str:
    """Return the encoder's short name: the Hub's owner does not matter."""
    return str(system.settings["model.encoder"]).rpartition("/")[2]


def _table_head(header: Sequence[str]) -> list[str]:
    return [markdown_row(header), markdown_row(["---"] + ["---:"] * (len(header) - 1))]


def _value(value: object) -> str:
    return "–" if value == "" else str(value)


def _mean_over(system: System, seeds: Iterable[int]) -> Numbers:
    mean: Numbers = np.mean([system.seeds[seed] for seed in seeds], axis=0)
    return mean


def _system_difference(system: System, first: System) -> list[str]:
    """Compare two systems over the seeds that both have, so that the seed is not what makes the difference."""
    if system is first:
        return ["", ""]
    shared = sorted(system.seeds.keys() & first.seeds.keys())
    if not shared:
        return _difference(system.values, first.values)
    return _difference(_mean_over(system, shared), _mean_over(first, shared))


def _difference(values: Numbers, first: Numbers) -> list[str]:
    return [f"{values.mean() - first.mean():+.4f}", _p_text(paired_t_test(values, first))]


def _p_text(p_value: float | None) -> str:
    if p_value is None:
        return "–"
    return "< 0.001" if p_value < LEAST_P else f"{p_value:.3f}"


@app.command()
def main(
    runs: Annotated[Path, typer.Option(help="Folder of the kept records.")] = Path("results"),
    output: Annotated[Path, typer.Option(help="The page.")] = Path("docs/ablations.md"),
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
) -> None:
    """Write what each choice is worth."""
    with write_text(output) as file:
        file.write(render(read_systems(runs, data_dir)))


if __name__ == "__main__":
    run_command(app)
