"""The plan in measurements.toml in, its trainings run and their small records kept out.

`python -m anselect.experiments.measurements [--group heads] [--dry-run]`; the same again goes on, and what is kept
already is not trained again. Then `python -m anselect.experiments.results` and `…ablations` write the pages.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from anselect.config import Recipe, load_recipe
from anselect.errors import UsageError
from anselect.experiments.budget import TIMES, TimeBook
from anselect.experiments.cells import Cell, encoder_slug
from anselect.experiments.keep import keep_baselines, keep_run
from anselect.experiments.run import Status, find_outcome, run_cells
from anselect.training.module_command import run_command
from anselect.training.train import train

PLAN: Final = Path(__file__).with_name("measurements.toml")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@dataclass(frozen=True, slots=True)
class Group:
    """Trainings of one recipe that differ in some of its keys."""

    name: str
    recipe: str
    settings: tuple[str, ...]
    vary: Mapping[str, Sequence[object]]
    seeds: int = 1

    def cells(self, output: Path) -> Iterator[Cell]:
        """Return a training for every combination of values and every seed, each with its folder."""
        for values in itertools.product(*self.vary.values()):
            changed = [f"{key}={_toml(value)}" for key, value in zip(self.vary, values, strict=True)]
            for seed in range(self.seeds):
                recipe = load_recipe(self.recipe, [*self.settings, *changed, f"training.seed={seed}"])
                yield Cell(recipe, output / self._folder(recipe, values))

    def _folder(self, recipe: Recipe, values: Sequence[object]) -> str:
        """Name a training by its data, its encoder's short name, the varied keys with their values, and its seed."""
        varied = [
            f"{key.partition('.')[2].replace('_', '-')}-{_short(value)}"
            for key, value in zip(self.vary, values, strict=True)
        ]
        parts = [recipe.data.name, self.recipe.partition("-")[0], *varied, f"seed{recipe.training.seed}"]
        return "-".join(parts).lower()


def read_plan(path: Path = PLAN) -> list[Group]:
    """Read the groups in the order to run them; a group's own settings override the plan's."""
    plan = tomllib.loads(path.read_text(encoding="utf-8"))
    common = plan.get("settings", [])
    return [Group(**{**each, "settings": (*common, *each["settings"])}) for each in plan["group"]]


def plan_cells(output: Path, wanted: Sequence[str] = (), path: Path = PLAN) -> list[Cell]:
    """Return the trainings of the plan, or of some groups; raise UsageError for a group that there is not."""
    groups = read_plan(path)
    unknown = set(wanted) - {group.name for group in groups}
    if unknown:
        known = ", ".join(group.name for group in groups)
        raise UsageError(f"expected --group to be one of {known}, got '{min(unknown)}'")
    return [cell for group in groups if not wanted or group.name in wanted for cell in group.cells(output)]


def is_kept(cell: Cell, results: Path) -> bool:
    """Say whether the records of this very training are kept; its run folder may be long gone."""
    return find_outcome(replace(cell, folder=results / cell.folder.name)).status is Status.finished


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: object) -> str:
    return encoder_slug(value) if isinstance(value, str) else str(value)


@app.command()
def main(
    group: Annotated[list[str] | None, typer.Option(help="Only this group; may be repeated.")] = None,
    plan: Annotated[Path, typer.Option(help="The plan to follow.")] = PLAN,
    output: Annotated[Path, typer.Option(help="Where the run folders go.")] = Path("runs/measurements"),
    results: Annotated[Path, typer.Option(help="Where the records go.")] = Path("results"),
    data_dir: Annotated[Path | None, typer.Option(help="Where the data sets lie.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Only show what would be trained and what is finished.")] = False,
) -> None:
    """Train what is not finished and keep its records; one that fails says why and the rest goes on."""
    cells = plan_cells(output, group or (), plan)
    if dry_run:
        for cell in cells:
            typer.echo(f"{cell.folder}: {'kept' if is_kept(cell, results) else find_outcome(cell).status.value}")
        return
    cells = [cell for cell in cells if not is_kept(cell, results)]

    def train_and_keep(recipe: Recipe, folder: Path) -> None:
        train(recipe, folder, data_dir=data_dir)
        keep_run(folder, results)  # At once: what is kept outlives the machine.

    book = TimeBook(output / TIMES, lambda _: None)
    outcomes = run_cells(cells, train_and_keep, book, say=lambda text: typer.echo(text, err=True))
    for cell in cells:  # A training may have been finished, but not kept.
        if outcomes[cell.folder].status is Status.finished and not (results / cell.folder.name).is_dir():
            keep_run(cell.folder, results)
    for missing in keep_baselines(results, data_dir=data_dir):
        typer.echo(f"no baselines: {missing}", err=True)
    raise typer.Exit(int(any(each.status is Status.failed for each in outcomes.values())))


if __name__ == "__main__":
    run_command(app)
