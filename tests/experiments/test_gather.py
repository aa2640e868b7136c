"""Hand-made runs in, known means, deviations, differences and tests out; every format against a file read by eye."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from anselect.experiments.cells import Plan, Request, plan_table
from anselect.experiments.gather import ResultTable, gather_results
from anselect.experiments.render import FORMATS, escape_latex
from anselect.experiments.run import Outcome, Status, find_outcome
from anselect.experiments.sheet import Entry, Sheet, lay_out
from anselect.experiments.tables import find_table
from tests.experiments.hand_made import write_finished_run, write_wikiqa

GOLDEN = Path(__file__).parent / "golden"
SIZE = 8
RANKS = {
    # All right; seed 1 has one question at rank 2: MAP 1 and (7 + 1/2) / 8 = 0.9375.
    "fc": ([1] * 8, [1] * 7 + [2]),
    # All at rank 3: MAP 1/3, and never better than fc: p = 2 / 2^8 before Holm.
    "bow": ([3] * 8, [3] * 8),
    # One question at rank 2, as fc in the mean but for a quarter: not sure.
    "cnn": ([1] * 7 + [2], [1] * 7 + [2]),
}


def plan_in(folder: Path) -> Plan:
    request = Request(encoder="my_encoder", seeds=2, data=("wikiqa",), output=folder)
    return plan_table(find_table("bas-table6"), request)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems are finished; the fourth is not there in seed 0 and failed in seed 1."""
    folder = tmp_path_factory.mktemp("made")
    write_wikiqa(folder / "data", {"train": 4, "dev": 3, "test": SIZE})
    for cell in plan_in(folder / "out").cells:
        if cell.recipe.model.head in RANKS:
            write_finished_run(cell.folder, cell.recipe, folder / "data", RANKS[cell.recipe.model.head][cell.seed])
    return folder


@pytest.fixture
def plan(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)  # run folders are named by relative paths in the golden files
    return plan_in(Path("out"))


def gather(plan: Plan, data_dir: Path = Path("data")) -> ResultTable:
    outcomes = {cell.folder: find_outcome(cell) for cell in plan.cells}
    outcomes[plan.cells[-1].folder] = Outcome(Status.failed, "50 % of the disk & more: no_room")
    return gather_results(plan, outcomes, data_dir=data_dir)


def test_mean_deviation_and_difference_are_those_of_the_seeds(plan: Plan) -> None:
    cell = gather(plan).rows[0].cells["wikiqa"]
    assert cell.figures["MAP"].values == (1.0, 0.9375)
    assert cell.figures["MAP"].mean == 0.96875
    assert cell.figures["MAP"].deviation == pytest.approx(0.0625 / 2**0.5)
    assert cell.figures["MAP"].difference == pytest.approx(0.96875 - 0.789)


def test_rows_are_tested_against_the_best_of_their_column(plan: Plan) -> None:
    fc, bow, cnn, rnn = (row.cells["wikiqa"] for row in gather(plan).rows)
    assert [cell.is_best for cell in (fc, bow, cnn, rnn)] == [True, False, False, False]
    # 2 of 2^8 sign patterns are as extreme; Holm doubles the smaller p of two.
    assert bow.p == pytest.approx(2 * 2 / 2**8)
    assert cnn.p == 1.0
    assert fc.p is rnn.p is None


def test_missing_cell_keeps_its_published_figure_and_its_reasons(plan: Plan) -> None:
    cell = gather(plan).rows[3].cells["wikiqa"]
    assert cell.figures["MAP"].mean is None
    assert cell.figures["MAP"].published == 0.784
    assert cell.reasons == ("seed 0: not run yet", "seed 1: 50 % of the disk & more: no_room")


def test_without_the_data_figures_stand_and_tests_do_not(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    (tmp_path / "empty").mkdir()
    table = gather(plan, tmp_path / "empty")
    assert table.rows[0].cells["wikiqa"].figures["MAP"].mean == 0.96875
    assert not table.rows[0].cells["wikiqa"].is_best
    assert any(
        note.startswith("No paired tests for WikiQA: wikiqa test is not on this machine") for note in table.notes
    )


def test_damaged_metrics_become_a_footnote(plan: Plan) -> None:
    (plan.cells[0].folder / "metrics.json").write_text('{"test": {}}')
    cell = gather(plan).rows[0].cells["wikiqa"]
    assert len(cell.runs) == 1
    assert "expected test figures under protocol 243" in cell.reasons[0]


@pytest.mark.parametrize("name", FORMATS)
def test_format_equals_its_golden_file(name: str, plan: Plan) -> None:
    text = FORMATS[name](lay_out(gather(plan)))
    assert text == (GOLDEN / f"bas-table6.{name}").read_text(encoding="utf-8")


def test_csv_and_json_hold_the_same_unrounded_figures(plan: Plan) -> None:
    sheet = lay_out(gather(plan))
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](sheet))))
    figures = json.loads(FORMATS["json"](sheet))["figures"]
    assert [line["mean"] for line in lines] == ["" if each["mean"] is None else str(each["mean"]) for each in figures]
    assert figures[0]["runs"] == [f"out/bas-base-fc-uncased/my_encoder/wikiqa/seed{seed}" for seed in (0, 1)]


def test_average_is_taken_over_all_columns_or_not_at_all(tmp_path: Path) -> None:
    plan = plan_table(find_table("cete-figure4"), Request(systems="features: elmo", output=tmp_path))
    outcomes = {cell.folder: find_outcome(cell) for cell in plan.cells}
    average = gather_results(plan, outcomes, data_dir=tmp_path).rows[0].cells["average"].figures["MAP"]
    printed = (0.798, 0.791, 0.762, 0.762, 0.875, 0.767, 0.860)  # CETE Tables 3 and 4
    assert average.mean is None
    assert average.published == pytest.approx(sum(printed) / 7)


def test_latex_special_characters_are_escaped() -> None:
    escaped = r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}"
    assert escape_latex("\\&%$#_{}~^") == escaped


def test_markdown_special_characters_are_escaped() -> None:
    entries = (Entry("a|b_c*"), Entry("0.5 ± 0.1", link="out dir/(1)"))
    line = FORMATS["markdown"](Sheet("t", ("system", "x"), (entries,))).splitlines()[4]
    assert line == r"| a\|b\_c\* | [0.5](out%20dir/%281%29) ± 0.1 |"
