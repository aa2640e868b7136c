"""Cells in, a row of a Markdown table out."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_row(cells: Sequence[str]) -> str:
    """Join cells that are Markdown already; a bar in one must be escaped.

    >>> markdown_row(["system", "MAP"])
    '| system | MAP |'
    """
    return f"| {' | '.join(cells)} |"
