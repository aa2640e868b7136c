"""Finished runs in, word-by-word heat maps of one and the same question out, a PNG and an SVG for each run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anselect.errors import MissingExtraError
from anselect.training.run_folder import RunFolder, read_recipe


def draw_heat_maps(folder: Path, runs: Sequence[Path], *, data_dir: Path | None = None) -> list[Path]:
    """Compare a dev question's words with those of a right and a wrong candidate, in each run; return the files.

    The question is the first that suits the first run, so that the pictures of all runs show the same texts.
    Raises MissingExtraError without torch or matplotlib.
    """
    try:
        from anselect.experiments.figures.heatmaps import draw_heatmaps
        from anselect.experiments.figures.run_data import read_scored_split
        from anselect.experiments.figures.style import FORMATS, save_figure
        from anselect.experiments.figures.word_maps import choose_example, word_maps
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    if not runs:
        return []
    folders = [RunFolder(run) for run in runs]
    question, right, wrong = choose_example(read_scored_split(folders[0], read_recipe(folders[0]), "dev", data_dir))
    written = []
    for run in folders:
        figure = draw_heatmaps(word_maps(run, read_recipe(run), question, right, wrong), title=question)
        for suffix in FORMATS:
            # RECIPE/ENCODER/DATA/SEED names a run among those of a table.
            path = folder / f"{'-'.join(run.path.parts[-4:])}.{suffix}"
            save_figure(figure, path)
            written.append(path)
    return written
