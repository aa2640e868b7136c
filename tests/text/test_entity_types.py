from __future__ import annotations

import pytest

from anselect.errors import UsageError
from anselect.text.answer_type_labels import COARSE_TYPES
from anselect.text.entity_types import ALL_LABELS, ENTITY_LABELS, answer_type_of, labels_of

# Table 3 of BAS, typed off the paper once more ("WORK OF ART" is spaCy's WORK_OF_ART).
TABLE_3 = {
    "HUM": {"PERSON", "ORG", "NORP"},
    "LOC": {"LOC", "GPE"},
    "ENTY": {"PRODUCT", "EVENT", "LANGUAGE", "WORK_OF_ART", "LAW", "FAC"},
    "NUM": {"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"},
    "ABBR": set(),
    "DESC": set(),
}


def test_labels_are_those_of_the_paper() -> None:
    assert {coarse_type: set(labels) for coarse_type, labels in ENTITY_LABELS.items()} == TABLE_3
    assert len(ALL_LABELS) == len(set(ALL_LABELS)) == 18


def test_every_coarse_type_has_a_row() -> None:
    assert set(ENTITY_LABELS) == set(COARSE_TYPES)


def test_answer_type_of_is_the_inverse() -> None:
    assert all(label in labels_of(answer_type_of(label) or "") for label in ALL_LABELS)
    assert answer_type_of("DISEASE") is None


def test_unknown_answer_type_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="ABBR, DESC, ENTY, HUM, LOC, NUM, got 'hum'"):
        labels_of("hum")
