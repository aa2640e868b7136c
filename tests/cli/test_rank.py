"""`anselect rank`: what a lowest score leaves out."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner, Result

from anselect.cli.rank import rank

TELEPHONE = "Alexander Graham Bell invented the telephone in 1876."
app = typer.Typer()
app.command()(rank)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["Who invented the telephone?", "It was cold.", TELEPHONE, *arguments])


def test_candidates_below_the_lowest_score_are_left_out() -> None:
    result = run("--min-score", "0.3", "--format", "json")
    assert result.exit_code == 0
    assert [row["text"] for row in json.loads(result.stdout)] == [TELEPHONE]


def test_no_candidate_may_be_left() -> None:
    result = run("--min-score", "0.999", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == []
    assert "none of these answers the question" in result.stderr


@pytest.mark.parametrize("score", ["1.5", "-0.1", "high"])
def test_impossible_lowest_score_is_refused(score: str) -> None:
    assert run("--min-score", score).exit_code == 2
