"""Which trainings a table needs, in which order and folder, and which rows become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.errors import UsageError
from anselect.experiments.cells import Request, plan_table
from anselect.experiments.tables import find_table

OUT = Path("out")


def test_cell_has_a_folder_of_recipe_encoder_data_and_seed() -> None:
    plan = plan_table(find_table("bas-table6"), Request(seeds=2, data=("wikiqa",), systems="*rnn*", output=OUT))
    assert [cell.folder.as_posix() for cell in plan.cells] == [
        "out/bas-base-rnn-uncased/bert-base-uncased/wikiqa/seed0",
        "out/bas-base-rnn-uncased/bert-base-uncased/wikiqa/seed1",
    ]
    assert [cell.recipe.training.seed for cell in plan.cells] == [0, 1]


def test_both_versions_of_trecqa_come_from_one_run() -> None:
    plan = plan_table(find_table("bas-table6"), Request(data=("trecqa",)))
    assert [column.key for column in plan.columns] == ["trecqa-raw", "trecqa-clean"]
    assert len(plan.cells) == 4


def test_whole_rows_of_the_most_important_data_come_first() -> None:
    plan = plan_table(find_table("bas-table6"), Request(seeds=2, systems="*+[fr]*"))
    order = [(cell.data, cell.recipe.model.head, cell.seed) for cell in plan.cells]
    assert order == [(data, head, seed) for data in ("wikiqa", "trecqa") for head in ("fc", "rnn") for seed in (0, 1)]


def test_replaced_encoder_makes_one_row_of_cased_uncased_base_and_large() -> None:
    rows = plan_table(find_table("bas-table5"), Request(encoder="all-MiniLM-L6-v2")).rows
    assert [row.label for row in rows] == ["fc", "bow", "cnn", "rnn"]
    assert rows[0].stands_for == ("base+fc+uncased", "base+fc+cased", "large+fc+uncased", "large+fc+cased")
    assert rows[0].system == "base+fc+uncased"


def test_own_encoders_collapse_nothing() -> None:
    rows = plan_table(find_table("bas-table5"), Request()).rows
    assert len(rows) == 16
    assert not any(row.stands_for for row in rows)


def test_labels_stay_different_where_settings_differ() -> None:
    labels = [row.label for row in plan_table(find_table("cete-table3"), Request(encoder="x")).rows]
    assert len(set(labels)) == len(labels)


def test_glove_and_elmo_keep_their_vectors() -> None:
    rows = plan_table(find_table("cete-table3"), Request(encoder="all-MiniLM-L6-v2", systems="features*")).rows
    assert [row.encoder for row in rows] == [
        "glove.6B.300d.txt",
        "elmo_2x4096_512_2048cnn_2xhighway",
        "all-MiniLM-L6-v2",
    ]


def test_ablation_is_a_variant_without_published_figures() -> None:
    rows = plan_table(find_table("cete-figure4"), Request(data=("wikiqa",), systems="*elmo*")).rows
    assert [(row.label, row.system) for row in rows] == [
        ("features: elmo, no-encoder", ""),
        ("features: elmo", "features: elmo"),
    ]
    folders = [row.cells["wikiqa"][0].folder.parts[2] for row in rows]
    assert folders == ["cete-features-elmo+no-encoder", "cete-features-elmo"]
    assert [row.cells["wikiqa"][0].recipe.model.encoder_layers for row in rows] == [0, 1]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(data=("yahoocqa",)), "bas-table6 has no data set 'yahoocqa': it has trecqa, wikiqa"),
        (Request(data=("wikqa",)), "unknown data set 'wikqa'"),
        (Request(systems="nothing"), "expected --systems to match one of base"),
        (Request(settings=("training.seed=3",)), "--set training.seed would change what the table is about"),
        (Request(settings=("protocol=633",)), "--set protocol would change"),
        (Request(settings=("training.epoch=3",)), "Did you mean 'epochs'"),
    ],
)
def test_wish_that_cannot_be_met_is_told(request_: Request, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_table(find_table("bas-table6"), request_)
