"""Levelled lists: the more the right candidate stands out, the fewer are kept; what is kept tells nothing by itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import anselect.training.bundled
from anselect.data.reading import read_questions
from anselect.records import Candidate, Question
from anselect.training.bundled.levelling import KEPT, level_lists, stands_out
from anselect.training.bundled.sources import WRITTEN

ASKED = "who painted the famous portrait"
FEW, MANY = "Leonardo did.", "The famous portrait was painted in Florence."
LONG = "It was somebody of whom nobody has ever heard anything at all since then."


def asked(*candidates: tuple[str, int]) -> Question:
    return Question("q", ASKED, tuple(Candidate(str(place), *each) for place, each in enumerate(candidates)))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (asked((FEW, 1), (MANY, 0)), (True, False)),
        (asked((MANY, 1), (FEW, 0)), (False, True)),
        (asked((MANY, 1), (LONG, 0)), (False, False)),
        (asked((LONG, 1), (MANY, 0)), (True, True)),
        (asked((MANY, 1), (LONG, 1), (FEW, 0)), (True, True)),
    ],
)
def test_right_candidates_stand_out_by_few_words_or_length(question: Question, expected: tuple[bool, bool]) -> None:
    assert stands_out(question) == expected


def test_each_kind_is_kept_by_its_share_and_a_seed_decides() -> None:
    lists = [asked((LONG, 1), (MANY, 0))] * 1000 + [asked((MANY, 1), (LONG, 0))] * 100
    kept = level_lists(lists, random.Random(0))
    assert kept == level_lists(lists, random.Random(0))
    assert kept[-100:] == lists[-100:]
    assert len(kept) - 100 == pytest.approx(1000 * KEPT[True, True], abs=40)


def test_on_the_whole_the_written_lists_tell_nothing_by_shared_words_or_length() -> None:
    folder = Path(anselect.training.bundled.__file__).parent / "written"
    read = {name: list(read_questions(folder / f"{name}.jsonl")) for name in (*WRITTEN, "ordinary")}
    kept = [each for name in WRITTEN for each in level_lists(read[name], random.Random(name))] + read["ordinary"]
    fewest, longest = (sum(found) / len(kept) for found in zip(*(stands_out(each) for each in kept), strict=True))
    before = [stands_out(each) for name in WRITTEN for each in read[name]]
    assert sum(few for few, _ in before) / len(before) > 0.7
    # Ties count as standing out, so that chance is above one in five.
    assert fewest < 0.45
    assert longest < 0.25
