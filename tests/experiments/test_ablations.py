"""What one choice is worth: only systems that differ in it alone are compared, question by question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import ttest_rel
from typer.testing import CliRunner

from anselect.config import load_recipe
from anselect.experiments.ablations import (
    Ablation,
    Grid,
    System,
    app,
    find_fine_tuned,
    find_grids,
    find_groups,
    read_systems,
    render,
)
from anselect.experiments.keep import main as keep
from tests.conftest import ROOT
from tests.experiments.hand_made import write_finished_run, write_wikiqa

HIGHLIGHT = Ablation("Highlighting", "text.highlight", by_type=True)
LOSS = Ablation("Losses", "training.loss", frozenset({"training.batch_size"}))
GRID = Grid("Heads and highlighting", "model.head", "text.highlight")
RUNS: dict[str, tuple[list[str], list[int]]] = {
    "plain-seed0": ([], [1, 2, 1, 1, 3, 1]),
    "plain-seed1": (["training.seed=1"], [1, 2, 1, 2, 1, 1]),
    "replaced-seed0": (["text.highlight=replace"], [1, 1, 1, 1, 2, 1]),
    "listwise-seed0": (["training.loss=listwise-softmax", "training.batch_size=4"], [2, 2, 2, 1, 1, 1]),
    "other-seed0": (["text.highlight=mark", "training.learning_rate=1e-3"], [1, 1, 1, 1, 1, 1]),
    "other-plain-seed0": (["training.learning_rate=1e-3"], [1, 1, 1, 1, 1, 2]),
    "other-fc-seed0": (["text.highlight=mark", "model.head=fc", "training.learning_rate=1e-3"], [1, 1, 2, 1, 1, 1]),
    "other-fc-plain-seed0": (["model.head=fc", "training.learning_rate=1e-3"], [2, 2, 1, 1, 1, 1]),
    "other-bow-seed0": (["model.head=bow", "training.learning_rate=1e-3"], [1, 1, 1, 1, 2, 1]),
    "features-seed0": (["model.kind=siamese", "training.loss=cosine-mse"], [3, 2, 2, 1, 1, 1]),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data/ and results/."""
    folder = tmp_path_factory.mktemp("ablations")
    data_dir = write_wikiqa(folder / "data", {"train": 4, "dev": 3, "test": 6})
    for name, (settings, ranks) in RUNS.items():
        write_finished_run(folder / "runs" / name, load_recipe("minilm-linear", settings), data_dir, ranks)
        places = ["--results", str(folder / "results"), "--data-dir", str(data_dir), "--name", name]
        assert keep([str(folder / "runs" / name), *places]) == 0
    return folder


def tuned(systems: list[System]) -> list[System]:
    """Leave frozen features out, which have a section of their own at the end of the page."""
    return [one for one in systems if one.settings["model.kind"] == "cross-encoder"]


def test_groups_differ_in_the_key_alone_and_the_default_comes_first(kept: Path) -> None:
    systems = read_systems(kept / "results", kept / "data")
    named = {
        key: [[one.runs[0].system for one in group] for group in find_groups(systems, key)] for key in (HIGHLIGHT, LOSS)
    }
    highlighted = [["other-fc-plain", "other-fc"], ["other-plain", "other"], ["plain", "replaced"]]
    assert {key: sorted(groups) for key, groups in named.items()} == {
        HIGHLIGHT: highlighted,
        LOSS: [["plain", "listwise"]],
    }


def test_grid_leaves_rows_out_that_lack_a_column_and_tests_its_columns_over_all_rows(kept: Path) -> None:
    systems = read_systems(kept / "results", kept / "data")
    (cells,) = find_grids(systems, GRID)  # the plain runs have no second head, bow was never marked
    assert {place: one.runs[0].system for place, one in cells.items()} == {
        ("linear", "none"): "other-plain",
        ("linear", "mark"): "other",
        ("fc", "none"): "other-fc-plain",
        ("fc", "mark"): "other-fc",
    }
    plain = [(a + b) / 2 for a, b in zip([1, 1, 1, 1, 1, 1 / 2], [1 / 2, 1 / 2, 1, 1, 1, 1], strict=True)]
    marked = [1, 1, 3 / 4, 1, 1, 1]
    p_value = ttest_rel(marked, plain).pvalue
    lines = render(tuned(systems), [], [GRID]).splitlines()
    linear, fc, mean = lines[lines.index("wikiqa: test MAP, in brackets dev MAP") + 4 :][:3]
    assert linear == f"| linear | {5.5 / 6:.4f} (1.0000) | 1.0000 (1.0000) |"
    assert fc == f"| fc | {5 / 6:.4f} (1.0000) | {5.5 / 6:.4f} (1.0000) |"
    difference = f"({(sum(marked) - sum(plain)) / 6:+.4f}, p {p_value:.3f})"
    assert mean == f"| mean | {sum(plain) / 6:.4f} | {sum(marked) / 6:.4f} {difference} |"
    # "who" expects a person in questions 0, 2, 4
    p_value = ttest_rel(marked[::2], plain[::2]).pvalue
    difference = f"({(sum(marked[::2]) - sum(plain[::2])) / 3:+.4f}, p {p_value:.3f})"
    assert f"| HUM | {sum(plain[::2]) / 3:.4f} | {sum(marked[::2]) / 3:.4f} {difference} |" in lines


def test_row_has_the_difference_its_test_and_the_answer_types(kept: Path) -> None:
    plain = [(a + b) / 2 for a, b in zip([1, 1 / 2, 1, 1, 1 / 3, 1], [1, 1 / 2, 1, 1 / 2, 1, 1], strict=True)]
    shared = [1, 1 / 2, 1, 1, 1 / 3, 1]  # of the one seed that both have
    replaced = [1, 1, 1, 1, 1 / 2, 1]
    p_value = ttest_rel(replaced, shared).pvalue
    own = [one for one in read_systems(kept / "results", kept / "data") if "other" not in one.runs[0].system]
    page = render(tuned(own), [HIGHLIGHT], [])
    first, second = page.splitlines()[-2:]
    mean = sum(plain) / 6
    assert first.startswith(f"| none | 2 | 1.0000 | {mean:.4f} |  |  | ")
    difference = (5.5 - sum(shared)) / 6
    assert second.startswith(f"| replace | 1 | 1.0000 | {5.5 / 6:.4f} | {difference:+.4f} | {p_value:.3f} | ")
    # "who" expects a person in questions 0, 2, 4, "where" a place in 1, 3, 5
    assert "| p | HUM | LOC |" in page
    assert second.endswith(f" | {2.5 / 3:.3f} | 1.000 |")


def test_what_tells_a_table_from_others_is_of_its_own_data_set(kept: Path) -> None:
    own = [one for one in read_systems(kept / "results", kept / "data") if one.settings["model.head"] == "linear"]
    systems = tuned(own)
    forum = [
        replace(one, settings={**one.settings, "data.name": "forum", "data.limit_questions": 9})
        for one in systems
        if one.runs[0].system in ("plain", "replaced")
    ]
    lines = render([*systems, *forum], [HIGHLIGHT], []).splitlines()
    assert {"forum", "wikiqa: learning_rate 0.001", "wikiqa: learning_rate 5e-05"} <= set(lines)


def test_fine_tuning_stands_beside_the_best_features_of_the_same_encoder(kept: Path) -> None:
    systems = read_systems(kept / "results", kept / "data")
    ((frozen, best),) = find_fine_tuned(systems)
    assert frozen.runs[0].system == "features"
    assert best.settings["model.kind"] == "cross-encoder"
    row = render(systems, [], []).splitlines()[-1]
    p_value = ttest_rel(best.values, frozen.values).pvalue
    difference = best.values.mean() - frozen.values.mean()
    assert row.startswith("| wikiqa, all-MiniLM-L6-v2 | features | ")
    assert row.endswith(f" | {difference:+.4f} | {p_value:.3f} |")


def test_command_writes_the_page_and_names_what_is_missing(kept: Path, tmp_path: Path) -> None:
    places = ["--runs", str(kept / "results"), "--data-dir", str(kept / "data")]
    done = CliRunner().invoke(app, [*places, "--output", str(tmp_path / "page.md")])
    assert done.exit_code == 0, done.output
    assert "## Losses" in (tmp_path / "page.md").read_text()
    failed = CliRunner().invoke(app, ["--runs", str(tmp_path / "none"), "--output", str(tmp_path / "other.md")])
    assert failed.exit_code != 0
    assert not (tmp_path / "other.md").exists()


def test_page_in_the_docs_is_what_the_records_give(benchmark_data: Path) -> None:
    systems = read_systems(ROOT / "results", benchmark_data)
    assert (ROOT / "docs" / "ablations.md").read_text(encoding="utf-8") == render(systems)
