"""The six coarse and fifty fine answer types of Li & Roth (2002), in the order that the model's outputs have."""

from __future__ import annotations

from typing import Final

_FINE_BY_COARSE: Final = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant product religion "
    "sport substance symbol techmeth termeq veh word",
    "HUM": "desc gr ind title",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other perc period speed temp volsize weight",
}

COARSE_TYPES: Final[tuple[str, ...]] = tuple(_FINE_BY_COARSE)
FINE_TYPES: Final[tuple[str, ...]] = tuple(
    f"{coarse}:{fine}" for coarse, names in _FINE_BY_COARSE.items() for fine in names.split()
)
