"""The tables as data: every name in them exists, and printed figures are those of the papers."""

from __future__ import annotations

import pytest

from anselect.config import load_recipe
from anselect.data.catalogue import dataset_names
from anselect.errors import UsageError
from anselect.experiments.tables import TITLES, data_of, find_table, printed_figures, table_names

TABLES = [
    *("bas-table4", "bas-table5", "bas-table6", "bertsel-table2", "bertsel-table3", "laskar2019"),
    *("cete-table2", "cete-table3", "cete-table4", "cete-figure4", "cete-figure2-3"),
]


def test_every_table_of_the_papers_is_known() -> None:
    assert sorted(table_names()) == sorted(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_data_sets(name: str) -> None:
    for key in find_table(name).column_keys:
        assert data_of(key) in dataset_names()
        assert key in TITLES


@pytest.mark.parametrize("name", [name for name in TABLES if find_table(name).kind == "systems"])
def test_rows_are_recipes_that_say_they_stand_in_the_table(name: str) -> None:
    table = find_table(name)
    number = name.rpartition("table")[2] if "table" in name else ""
    for row in table.rows:
        recipe = load_recipe(row.recipe, row.settings)
        assert recipe.paper.key == table.paper.lower().replace(" ", "")
        assert number in recipe.paper.table
        for column in table.columns:
            # Laskar 2019 prints no figures at all.
            assert (recipe.paper.system in printed_figures(table.paper, column.key)) == (name != "laskar2019")


def test_table5_has_the_sixteen_systems() -> None:
    assert len({row.recipe for row in find_table("bas-table5").rows}) == 16


def test_trecqa_is_counted_as_each_paper_is_believed_to() -> None:
    def protocols(name: str) -> dict[str, str]:
        return {column.key: column.protocol.name for column in find_table(name).columns}

    assert protocols("bas-table6") == {"trecqa-raw": "raw-95", "trecqa-clean": "clean", "wikiqa": "243"}
    assert protocols("cete-table3") == {"trecqa-raw": "raw-89", "trecqa-clean": "clean", "wikiqa": "243"}
    assert [column.is_believed for column in find_table("bertsel-table2").columns] == [True, True, True, False, False]


def test_both_versions_of_trecqa_have_their_own_figures() -> None:
    raw, clean = (printed_figures("BAS", f"trecqa-{each}")["base+rnn+uncased"] for each in ("raw", "clean"))
    assert (raw.map, raw.mrr, clean.map, clean.mrr) == (0.872, 0.899, 0.915, 0.959)


def test_measure_that_is_not_printed_is_none() -> None:
    assert find_table("cete-table4").cited["Tay et al. 2018, as cited"] == {"yahoocqa": (None, 0.801)}


def test_unknown_table_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown table 'bas-tabel6': did you mean 'bas-table6'"):
        find_table("bas-tabel6")
