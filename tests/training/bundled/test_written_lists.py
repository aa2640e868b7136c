"""Lists written for the training: groups become one list a question, and the groups that ship are well-formed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from anselect.training.bundled.written_lists import FOLDER, GROUPS, read_groups, read_written


def test_each_question_of_a_group_has_one_right_sentence_among_all(tmp_path: Path) -> None:
    group = {
        "sentences": ["It opened in 1890.", "Fowler drew the plans.", "It is long."],
        "questions": [{"text": "who designed it", "right": 1}, {"text": "when was it opened", "right": 0}],
    }
    (tmp_path / "groups.jsonl").write_text(json.dumps(group) + "\n")
    first, second = read_groups(tmp_path / "groups.jsonl")
    assert (first.id, first.text) == ("g0000.0", "who designed it")
    assert [candidate.text for candidate in first.candidates] == group["sentences"]
    assert [candidate.label for candidate in first.candidates] == [0, 1, 0]
    assert [candidate.label for candidate in second.candidates] == [1, 0, 0]


def test_groups_that_ship_ask_for_each_sentence_and_for_no_place_more_than_for_others() -> None:
    lists = read_written(GROUPS)
    assert len(lists) > 2000
    asked = Counter(question.text.lower().strip(" ?") for question in lists)
    assert max(asked.values()) <= 2
    assert all(sum(candidate.label or 0 for candidate in question.candidates) == 1 for question in lists)
    right = Counter(next(place for place, each in enumerate(question.candidates) if each.label) for question in lists)
    assert max(right.values()) / len(lists) < 0.2
    groups = [json.loads(line) for line in (FOLDER / f"{GROUPS}.jsonl").read_text(encoding="utf-8").splitlines()]
    whole = [len({each["right"] for each in group["questions"]}) == len(group["sentences"]) for group in groups]
    assert sum(whole) / len(whole) > 0.9


def test_a_file_of_lists_is_read_as_it_is() -> None:
    assert {len(question.candidates) > 3 for question in read_written("forum")} == {True}
