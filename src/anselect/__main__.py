"""`python -m anselect` is the `anselect` command."""

from __future__ import annotations

from anselect.cli.main import run

if __name__ == "__main__":
    run()
