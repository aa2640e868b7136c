from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from anselect.experiments.entity_overlap import (
    count_overlap,
    find_held,
    measure_overlap,
    to_markdown,
    types_by_question_word,
)
from anselect.records import Candidate, Entity, Question


class CapitalTagger:
    """Takes every word that begins with a capital for a person."""

    name, version = "capitals", "1"

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        for text in texts:
            words = [word for word in text.split() if word.istitle()]
            yield tuple(Entity(word, "PERSON", text.index(word), text.index(word) + len(word)) for word in words)


def typed_questions() -> list[tuple[Question, str]]:
    who = Question(
        "1",
        "who paid Watson",
        (
            Candidate("a", "it was Bell", 1),
            Candidate("b", "Watson got paid", 0),
            Candidate("c", "nobody", 0),
            Candidate("d", "Watson again", 0),
        ),
    )
    why = Question("2", "why", (Candidate("a", "Bell", 0), Candidate("b", "because", 1)))
    return [(who, "HUM"), (why, "DESC")]


def test_shares_and_map_are_those_counted_by_hand() -> None:
    rows = {
        row.answer_type: row for row in count_overlap(find_held(typed_questions(), CapitalTagger()), "d", "s", "text")
    }
    assert list(rows) == ["DESC", "HUM", "HUM LOC NUM ENTY", "all"]
    who = rows["HUM"]
    assert (who.questions, who.correct, who.correct_with, who.wrong, who.wrong_with) == (1, 1, 1, 3, 2)
    assert (who.correct_with_new, who.wrong_with_new) == (1, 0)  # the question names Watson itself
    assert who.random_map == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert who.entity_map == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert who.new_entity_map == 1.0
    why = rows["DESC"]
    assert (why.correct_with, why.wrong_with) == (0, 0)
    assert why.entity_map == why.random_map == pytest.approx(0.75)
    assert rows["all"].random_map == pytest.approx((who.random_map + why.random_map) / 2)


def test_table_shows_shares_with_their_whole() -> None:
    table = to_markdown(count_overlap(find_held(typed_questions(), CapitalTagger()), "d", "s", "tokens"))
    assert (
        "| d s tokens | HUM | 1 | 100.0 % of 1 | 66.7 % of 3 | 100.0 % of 1 | 0.0 % of 3 | 0.521 | 0.611 | 1.000 |"
        in table
    )


def test_real_split_has_the_published_size(benchmark_data: Path) -> None:
    splits = [("trecqa", "test")]
    rows = measure_overlap(
        CapitalTagger(), lambda texts: ["HUM" for _ in texts], splits=splits, data_dir=benchmark_data
    )
    assert {(row.form, row.questions, row.correct, row.wrong) for row in rows} == {
        ("text", 68, 248, 1194), ("tokens", 68, 248, 1194)
    }  # fmt: skip


def test_questions_of_unknown_type_do_not_count(benchmark_data: Path) -> None:
    splits = [("trecqa", "test")]
    rows = measure_overlap(CapitalTagger(), types_by_question_word, splits=splits, data_dir=benchmark_data)
    assert 20 < {row.answer_type: row.questions for row in rows}["all"] < 68


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who invented the telephone", "HUM"),
        ("How many people live there?", "NUM"),
        ("In which city was he born?", "LOC"),
        ("What is the whole of it?", None),
        ("", None),
    ],
)
def test_question_words_tell_the_type(question: str, expected: str | None) -> None:
    assert list(types_by_question_word([question])) == [expected]
