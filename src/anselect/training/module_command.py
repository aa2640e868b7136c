"""A typer application in, a command that `python -m` runs out: a caller's mistake is one line and an exit code."""

from __future__ import annotations

import logging

import typer

from anselect.errors import AnselectError


def run_command(app: typer.Typer) -> None:
    """Run the application; notes go to stderr, an AnselectError ends in one line there and its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        app()
    except AnselectError as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(error.exit_code) from error
