"""Anselect ranks candidate answers to a question so that the right one stands first."""

from __future__ import annotations

__version__ = "0.1.0.dev0"
