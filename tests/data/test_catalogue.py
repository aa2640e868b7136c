from __future__ import annotations

import re
from pathlib import Path

import pytest

from anselect.data.catalogue import (
    CLEAN,
    RAW,
    CleanRule,
    Counts,
    DataFile,
    Dataset,
    HashStatus,
    Published,
    Split,
    Version,
    dataset_names,
    find_dataset,
    find_split,
)
from anselect.data.files import file_sha256
from anselect.data.locate import READERS
from anselect.errors import UsageError

DATASETS = [find_dataset(name) for name in dataset_names()]
SPLITS = [(dataset, split) for dataset in DATASETS for split in dataset.splits.values()]
SPLIT_IDS = [f"{dataset.name}-{split.name}" for dataset, split in SPLITS]


TRANSFER = ("squad11-dev", "squad11-train-part", "squad20-dev", "squadshifts-new-wiki", "squadshifts-amazon")


def test_names_are_those_of_the_papers_data_sets_then_those_for_transfer() -> None:
    papers = ("wikiqa", "trecqa", "yahoocqa", "semeval2015", "semeval2016", "semeval2017")
    assert dataset_names() == (*papers, "insuranceqa", *TRANSFER, "quoref-dev", "boolq")


@pytest.mark.parametrize("name", [*TRANSFER, "quoref-dev", "boolq"])
def test_sets_for_transfer_say_so_and_have_one_split(name: str) -> None:
    dataset = find_dataset(name)
    assert len(dataset.splits) == 1
    assert dataset.notice.startswith("For training")


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_dataset_says_where_it_comes_from(dataset: Dataset) -> None:
    assert dataset.homepage.startswith("http")
    assert dataset.licence
    assert dataset.notice.endswith(".")
    assert dataset.citations
    for file in [*dataset.files.values(), *dataset.archives.values()]:
        assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in file.sha256 + file.copies)
        assert all(url.startswith(("http://", "https://")) for url in file.urls or ())
        assert file.archive is None or file.archive in dataset.archives
        assert not file.copies or dataset.copies_are


@pytest.mark.parametrize(("dataset", "split"), SPLITS, ids=SPLIT_IDS)
def test_split_can_be_read_from_files_of_the_catalogue(dataset: Dataset, split: Split) -> None:
    assert bool(split.sources) != bool(split.parts)
    assert RAW in split.versions
    assert (CLEAN in split.versions) <= (dataset.clean_rule is not CleanRule.none)
    for source in split.sources:
        assert source.reader in READERS
        assert set(source.files) <= dataset.files.keys()
    for part in split.parts:
        assert RAW in find_split(*part).versions


@pytest.mark.parametrize(("dataset", "split"), SPLITS, ids=SPLIT_IDS)
def test_true_counts_agree_with_the_published_figure_shown(dataset: Dataset, split: Split) -> None:
    for version in split.versions.values():
        if version.counts and version.published:
            counts, published = version.counts, version.published[0]
            assert counts.candidates == published.candidates
            assert counts.questions + counts.without_candidates == published.questions
            assert version.why or not counts.without_candidates


def test_trecqa_clean_test_shows_1442_and_records_what_bas_prints() -> None:
    version = find_split("trecqa", "test").versions[CLEAN]
    assert version.counts == Counts(68, 1442, 248, 0, 0)
    assert version.published == (
        Published("CETE Table 2", 68, 1442),
        Published("BAS Table 4", 68, 1142),
        Published("BERTSel Table 1", 68, None),
    )
    assert "1142" in version.why


def test_clean_version_exists_only_where_the_field_has_one() -> None:
    with_clean = {(dataset.name, split.name) for dataset, split in SPLITS if CLEAN in split.versions}
    assert with_clean == {
        *(("wikiqa", split) for split in ("train", "dev", "test")),
        *(("trecqa", split) for split in ("dev", "test")),
    }


def test_semeval2016_train_is_put_together_to_the_published_count() -> None:
    assert find_split("semeval2016", "train").parts == (
        ("semeval2016", "train-part1"),
        ("semeval2016", "train-part2"),
        ("semeval2016", "train-extra-2015train"),
        ("semeval2016", "train-extra-2015dev"),
        ("semeval2016", "train-extra-2015test"),
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [("trekqa", "'trecqa'"), ("WikiQA", "'wikiqa'"), ("semeval16", "'semeval2016'")],
)
def test_unknown_data_set_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown data set '{name}'. Did you mean {hint}\? Known: wikiqa, trecqa"):
        find_dataset(name)


def test_unknown_data_set_without_a_near_one_lists_all() -> None:
    with pytest.raises(UsageError, match=r"unknown data set 'qqq'\. Known: wikiqa"):
        find_dataset("qqq")


def test_unknown_split_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown split of trecqa 'trainall'\. Did you mean 'train-all'"):
        find_split("trecqa", "trainall")


@pytest.mark.parametrize(
    ("sha256", "status"),
    [("a", HashStatus.published), ("b", HashStatus.published), ("c", HashStatus.copy), ("d", HashStatus.changed)],
)
def test_file_status_of_recorded_file(sha256: str, status: HashStatus) -> None:
    assert DataFile("x", sha256=("a", "b"), copies=("c",)).status(sha256) is status


def test_file_status_of_unrecorded_file() -> None:
    assert DataFile("x", copies=("c",)).status("d") is HashStatus.unrecorded


def documented_row(dataset: Dataset, split: Split, name: str, version: Version) -> str:
    counts = version.counts
    cells: list[object] = ["?"] * 6
    if counts:
        cells = [counts.questions, counts.without_candidates, counts.candidates]
        cells += [counts.positives, counts.no_positive, counts.all_positive]
    printed = version.published[0] if version.published else None
    shown = f"{printed.questions} / {printed.candidates} ({printed.source})" if printed else "–"
    return f"| {' | '.join(map(str, [dataset.name, split.name, name, *cells, shown]))} |"


def test_documentation_has_the_counts_of_the_catalogue() -> None:
    lines = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8").splitlines()
    for dataset, split in SPLITS:
        for name, version in split.versions.items():
            assert documented_row(dataset, split, name, version) in lines


def test_recorded_hashes_are_those_of_the_files_at_hand(benchmark_data: Path) -> None:
    compared = 0
    for dataset in DATASETS:
        for name, file in dataset.files.items():
            folders = (benchmark_data / "original" / dataset.name, benchmark_data / dataset.name, benchmark_data)
            for path in (folder / name for folder in folders):
                if path.is_file() and (file.sha256 or file.copies):
                    assert file.status(file_sha256(path)) in {HashStatus.published, HashStatus.copy}, path
                    compared += 1
    assert compared >= 37
