"""Which entity labels answer which type of question: Table 3 of BAS (after Kamath 2019), as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anselect.errors import UsageError

# The labels are spaCy's (OntoNotes 5). Nothing in a text is an entity of the types ABBR and DESC.
ENTITY_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "ABBR": (),
    "DESC": (),
    "ENTY": ("PRODUCT", "EVENT", "LANGUAGE", "WORK_OF_ART", "LAW", "FAC"),
    "HUM": ("PERSON", "ORG", "NORP"),
    "LOC": ("LOC", "GPE"),
    "NUM": ("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"),
}
ALL_LABELS: Final[tuple[str, ...]] = tuple(label for labels in ENTITY_LABELS.values() for label in labels)
_TYPE_OF_LABEL: Final[Mapping[str, str]] = {
    label: coarse_type for coarse_type, labels in ENTITY_LABELS.items() for label in labels
}


def labels_of(coarse_type: str) -> tuple[str, ...]:
    """Return the entity labels that can answer a question of this coarse type; none for ABBR and DESC.

    >>> labels_of("LOC")
    ('LOC', 'GPE')
    """
    labels = ENTITY_LABELS.get(coarse_type)
    if labels is None:
        raise UsageError(f"expected an answer type of {', '.join(ENTITY_LABELS)}, got {coarse_type!r}")
    return labels


def answer_type_of(label: str) -> str | None:
    """Return the coarse answer type that an entity of this label gives; None for a label outside Table 3.

    >>> answer_type_of("NORP")
    'HUM'
    """
    return _TYPE_OF_LABEL.get(label)
