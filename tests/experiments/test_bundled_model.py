"""What the command that builds the bundled model refuses before it trains anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.errors import DataError, MissingFileError, UsageError
from anselect.experiments.bundled_model import refresh


@pytest.mark.parametrize("given", ["wikiqa", "wikiqa=", "=runs/a", ""])
def test_teacher_without_set_or_run_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError, match="expected --teacher SET=RUN"):
        refresh(tmp_path / "work", teacher=[given])
    assert not (tmp_path / "work").exists()


def test_teacher_of_a_set_that_is_not_learnt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the refresher has no lists of 'yahooqa'"):
        refresh(tmp_path / "work", teacher=["yahooqa=runs/a"])


def test_teacher_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such run or model folder"):
        refresh(tmp_path / "work", teacher=[f"wikiqa={tmp_path / 'none'}"])
    with pytest.raises(DataError, match="not a checkpoint"):
        refresh(tmp_path / "work", teacher=[f"wikiqa={tmp_path}"])
    assert not (tmp_path / "work").exists()
