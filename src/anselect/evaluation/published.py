"""The figures that papers print for a data set, from published.toml, with the protocol they are believed to follow."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from anselect.data.protocols import Counting, Protocol


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """What a paper prints for one of its systems."""

    paper: str
    system: str
    map: float
    mrr: float
    protocol: str | None
    """The protocol that it is believed to follow; None where nothing is known."""


def published_figures(data: str | None, split: str, protocol: Protocol) -> list[PublishedFigure]:
    """Return the printed figures to set beside a result, highest MAP first.

    Papers print test figures only. TrecQA has two sets of them, for the clean and for the raw questions; the latter
    mixes two ways to count, see `PublishedFigure.protocol`.
    """
    if data is None or split != "test":
        return []
    wanted = data
    if data == "trecqa":
        wanted = "trecqa-clean" if protocol.counting is Counting.mixed else "trecqa-raw"
    figures = [
        PublishedFigure(paper["name"], system, printed[wanted][0], printed[wanted][1], paper["protocols"].get(wanted))
        for paper in _papers().values()
        for system, printed in paper["systems"].items()
        if wanted in printed
    ]
    return sorted(figures, key=lambda figure: (-figure.map, -figure.mrr, figure.paper, figure.system))


def published_pair(paper: str, system: str, data: str) -> tuple[float, float] | None:
    """Return the MAP and MRR that a paper prints for a system on a data set; TrecQA's are the clean ones.

    >>> published_pair("bas", "base+fc+uncased", "wikiqa")
    (0.789, 0.81)
    """
    printed = _papers().get(paper, {}).get("systems", {}).get(system, {})
    figures = printed.get("trecqa-clean" if data == "trecqa" else data)
    return (figures[0], figures[1]) if figures else None


@cache
def _papers() -> Mapping[str, Any]:
    text = resources.files("anselect.evaluation").joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
