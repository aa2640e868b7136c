from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.catalogue import CLEAN, RAW, Counts
from anselect.data.statistics import SplitStatistics, clean_questions, describe, describe_split
from anselect.errors import MissingFileError
from anselect.records import Candidate, Question


def question(name: str, labels: list[int]) -> Question:
    candidates = (Candidate(str(place), "two words", label) for place, label in enumerate(labels))
    return Question(name, "one two three", tuple(candidates))


MIXED, ALL, NONE, EMPTY = question("m", [1, 0, 0]), question("a", [1, 1]), question("n", [0]), question("e", [])
QUESTIONS = st.lists(st.lists(st.integers(0, 1), max_size=4).map(lambda labels: question("q", labels)), max_size=6)
WIKIQA_HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without data sets of its own."""
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_describe_counts_each_kind_of_question() -> None:
    statistics = describe(iter([MIXED, ALL, NONE, EMPTY]))
    assert statistics.counts == Counts(
        questions=3, candidates=6, positives=3, no_positive=1, all_positive=1, without_candidates=1
    )
    assert statistics.mean_candidates == 2.0
    assert (statistics.mean_question_words, statistics.mean_candidate_words) == (3.0, 2.0)


def test_describe_measures_words() -> None:
    candidates = (Candidate("1", "a  b\tc d", 1), Candidate("2", "a", 0))
    statistics = describe([Question("q", "", candidates)])
    assert (statistics.mean_question_words, statistics.mean_candidate_words) == (0.0, 2.5)
    assert statistics.max_candidate_words == 4


def test_describe_takes_no_question() -> None:
    statistics = describe([])
    assert statistics.counts == Counts(0, 0, 0, 0, 0)
    assert (statistics.mean_candidates, statistics.max_candidate_words) == (0.0, 0)


def test_describe_does_not_take_unknown_labels_for_correct() -> None:
    counts = describe([Question("q", "t", (Candidate("1", "x"), Candidate("2", "y")))]).counts
    assert (counts.positives, counts.no_positive, counts.all_positive) == (0, 1, 0)


@given(QUESTIONS)
def test_describe_parts_add_up(questions: list[Question]) -> None:
    counts = describe(questions).counts
    mixed = clean_questions(questions, keep_all_positive=False)
    assert counts.questions + counts.without_candidates == len(questions)
    assert counts.no_positive + counts.all_positive + len(mixed) == counts.questions
    assert counts.positives <= counts.candidates


def test_clean_questions_drop_those_without_a_positive() -> None:
    assert clean_questions([MIXED, ALL, NONE, EMPTY]) == [MIXED, ALL]


def test_clean_questions_may_drop_all_positive_ones_too() -> None:
    assert clean_questions([ALL, NONE, MIXED, EMPTY], keep_all_positive=False) == [MIXED]


@given(QUESTIONS, st.booleans())
def test_clean_questions_twice_is_once(questions: list[Question], keep: bool) -> None:
    once = clean_questions(questions, keep_all_positive=keep)
    assert clean_questions(once, keep_all_positive=keep) == once


def test_changed_file_is_remarked(tmp_path: Path) -> None:
    text = WIKIQA_HEADER + "Q1\twho?\tD1\tBell\tD1-0\tBell.\t1\n"
    (tmp_path / "WikiQA-dev.tsv").write_text(text)
    raw, clean = describe_split("wikiqa", "dev", tmp_path)
    assert (raw.version, clean.version) == (RAW, CLEAN)
    assert not raw.is_as_known
    assert raw.matches_published is False
    assert raw.remark == (
        "expected questions 296, got 1, candidates 2733, got 1, positives 140, got 1, no_positive 170, got 0, "
        "all_positive 4, got 1; differs from the published count; WikiQA-dev.tsv: not the recorded sha256"
    )


def test_missing_split_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(describe_split("wikiqa", "test", tmp_path))


def test_uncounted_split_has_no_remark_about_true_counts(tmp_path: Path) -> None:
    folder = tmp_path / "semeval2016"
    folder.mkdir()
    pairs = "question_id\tquestion\tanswer_id\tanswer\tlabel\nQ1\twho?\tQ1_C1\tBell.\t1\n"
    (folder / "train-part1.tsv").write_text(pairs)
    (row,) = describe_split("semeval2016", "train-part1", tmp_path)
    assert (row.remark, row.matches_published, row.is_as_known) == ("", None, True)


def table_rows(readme: str) -> dict[str, tuple[int, ...]]:
    """The README of the benchmark data: file → questions, pairs, positives, without positive, all positive."""
    rows = (line.split(" | ") for line in readme.splitlines() if re.match(r"\| \w+/[\w-]+\.tsv \| \d+ \| \d+ \|", line))
    return {row[0].strip("| "): tuple(int(row[place]) for place in (1, 3, 4, 7, 8)) for row in rows if len(row) > 8}


ORACLE = [
    *(("wikiqa", split, RAW, f"wikiqa/{split}.tsv") for split in ("train", "dev", "test")),
    *(("wikiqa", split, CLEAN, f"wikiqa/{split}-clean.tsv") for split in ("train", "dev", "test")),
    *(("trecqa", split, RAW, f"trecqa/{split}.tsv") for split in ("train-all", "train")),
    *(("trecqa", split, RAW, f"trecqa/{split}-raw.tsv") for split in ("dev", "test")),
    *(("trecqa", split, CLEAN, f"trecqa/{split}-clean.tsv") for split in ("dev", "test")),
    *(("semeval2015", split, RAW, f"semeval2015/{split}.tsv") for split in ("dev", "test")),
    *(
        ("semeval2016", split, RAW, f"semeval2016/{split}.tsv")
        for split in ("train-part2", "train-extra-2015dev", "train-extra-2015test", "dev", "test")
    ),
    ("semeval2016", "train-extra-2015train-lemmatised", RAW, "semeval2016/train-extra-2015train-LEMMATISED.tsv"),
    ("semeval2017", "test", RAW, "semeval2017/test.tsv"),
]


@cache
def described(name: str, split: str, root: Path) -> tuple[SplitStatistics, ...]:
    """Read each split once for all its versions."""
    return tuple(describe_split(name, split, root))


@pytest.mark.parametrize(("name", "split", "version", "file"), ORACLE, ids=[row[3] for row in ORACLE])
def test_counts_equal_the_independent_table(
    benchmark_data: Path, name: str, split: str, version: str, file: str
) -> None:
    expected = table_rows((benchmark_data / "README.md").read_text(encoding="utf-8"))[file]
    row = next(row for row in described(name, split, benchmark_data) if row.version == version)
    counts = row.statistics.counts
    ours = (counts.questions, counts.candidates, counts.positives, counts.no_positive, counts.all_positive)
    assert ours == expected
    assert row.is_as_known


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_pair_file_without_empty_questions_is_as_known(benchmark_data: Path, tmp_path: Path, split: str) -> None:
    folder = tmp_path / "trecqa"
    folder.mkdir()
    name = "train.tsv" if split == "train" else f"{split}-raw.tsv"
    (folder / name).write_bytes((benchmark_data / "trecqa" / name).read_bytes())
    raw = next(describe_split("trecqa", split, tmp_path))
    assert raw.statistics.counts.without_candidates == 0
    assert raw.is_as_known
