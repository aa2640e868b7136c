"""What a command calls RUN in, scores out: a run file is read; a model (folder, Hub id, bundled) scores anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anselect.cli.output import print_note
from anselect.engine.folder import BUNDLED_NAME
from anselect.evaluation.run_scores import RunScores, read_run_scores
from anselect.records import Question
from anselect.selector import load


def scores_of(run: Path, questions: Sequence[Question]) -> RunScores:
    """Return the scores that a run file holds, or that a model gives."""
    if run.as_posix() != BUNDLED_NAME and not run.is_dir() and not _is_hub_id(run):
        return read_run_scores(run, questions)
    selector = load(run.as_posix())
    scored = selector.score_questions(questions)
    print_note(f"scored by the {selector.description}; {scored.cut_candidates} candidates cut to its limit")
    return RunScores([list(scores) for scores in scored.scores], missing=())


def _is_hub_id(run: Path) -> bool:
    """Tell whether a name can only be one of the Hub: `owner/name`, and neither a file nor in a folder that is here."""
    return len(run.parts) == 2 and not run.is_absolute() and not run.exists() and not run.parent.is_dir()
