"""`python -m anselect.experiments.figures RUN… --output DIR`: draws all that the runs' folders allow."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from anselect.errors import AnselectError
from anselect.experiments.figures.draw_runs import draw_runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figures and return the exit code; notes and errors go to stderr, a line each."""
    parser = argparse.ArgumentParser(prog="python -m anselect.experiments.figures", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the figures go")
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="whose scores to draw")
    parser.add_argument("--data-dir", type=Path, help="folder with the data sets")
    parser.add_argument("--no-words", action="store_true", help="draw no heat maps of words: they load the models")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    logging.getLogger("anselect").setLevel(logging.INFO)
    try:
        draw_runs(
            options.runs,
            options.output,
            split=options.split,
            data_dir=options.data_dir,
            with_words=not options.no_words,
        )
    except AnselectError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
