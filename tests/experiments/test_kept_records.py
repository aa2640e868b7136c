from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anselect.config import load_recipe
from anselect.experiments.kept_records import KeptRun, read_kept_runs

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({"commit": COMMIT}, "0123456789ab"),
        ({"commit": COMMIT, "commit_has_changes": True}, "0123456789ab (with changes)"),
        ({"commit_when_kept": COMMIT[:12]}, "0123456789ab (when kept)"),
        ({"commit": COMMIT, "commit_when_kept": "f" * 12}, "0123456789ab"),
        ({}, "not known"),
    ],
)
def test_commit_is_told_with_what_is_to_be_known_of_it(environment: dict[str, Any], shown: str) -> None:
    assert KeptRun(Path("a-seed0"), load_recipe("minilm-linear", []), {}, environment).commit == shown


def test_kept_runs_of_this_repository_all_name_a_commit() -> None:
    runs = read_kept_runs(Path(__file__).parents[2] / "results")
    assert runs
    assert [run.name for run in runs if run.commit == "not known"] == []
