"""The `anselect` command: registers one module per verb and turns errors into one line and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, Any, cast

import typer

import anselect
from anselect.cli.compare import compare
from anselect.cli.data_audit import audit
from anselect.cli.data_convert import convert
from anselect.cli.data_fetch import fetch
from anselect.cli.data_list import list_data
from anselect.cli.data_stats import stats
from anselect.cli.doctor import doctor
from anselect.cli.evaluate import evaluate
from anselect.cli.explain import explain
from anselect.cli.export import export
from anselect.cli.output import print_error, print_note, print_warning
from anselect.cli.rank import rank
from anselect.cli.reproduce import reproduce
from anselect.cli.score import score
from anselect.cli.train import train
from anselect.errors import AnselectError

EXAMPLES = """\b
Examples:
  anselect rank "Who invented the telephone?" "It rings." "Bell invented the telephone."
      order candidate answers, best first
  anselect data list
      which data sets there are, and which of them are on this machine
  anselect data audit my.tsv --strict
      is this file sound?
  anselect evaluate run.trec --data wikiqa --split test --protocol all
      MAP and MRR under every convention, beside baselines and published figures
  anselect compare mine.trec theirs.trec --data wikiqa --split test
      is the difference more than chance?
"""

# The class that every mistake in arguments comes from. Typer brings click under its own name since 0.26, so that
# `click.UsageError` is another class there: ask Typer for its own.
ArgumentMistake: type[Exception] = typer.BadParameter.__bases__[0]
# What a command without its arguments raises, with the whole help in it; click before 8.2 prints the help by itself.
HelpIsWanted: Any = getattr(sys.modules[ArgumentMistake.__module__], "NoArgsIsHelpError", ())

app = typer.Typer(
    name="anselect",
    help="Rank candidate answers to a question so that the right one stands first.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anselect {anselect.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


data = typer.Typer(help="The data sets: what they are, do the files match, are they sound.", rich_markup_mode=None)
data.command("list")(list_data)
for command in (stats, audit, convert, fetch):
    data.command()(command)

app.command()(rank)
app.command()(score)
app.command()(explain)
app.add_typer(data, name="data", no_args_is_help=True)
app.command()(train)
app.command()(evaluate)
app.command()(compare)
app.command()(reproduce)
app.command()(export)
app.command()(doctor)


class NoteHandler(logging.Handler):
    """Prints what the library logs (a cache that is off, a part left out) as notes and warnings on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        (print_warning if record.levelno >= logging.WARNING else print_note)(record.getMessage())


def run() -> None:
    """Run the command line; a user's mistake ends in one line on stderr, never in a traceback."""
    logging.getLogger("anselect").addHandler(NoteHandler())
    try:
        code = app(standalone_mode=False)
    except HelpIsWanted as error:
        typer.echo(error.format_message(), err=True)
        code = 2
    except ArgumentMistake as error:
        print_error(f"{cast(Any, error).format_message()} Try 'anselect --help'.")
        code = 2
    except AnselectError as error:
        print_error(str(error))
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        code = 130
    except BrokenPipeError:
        # The reader went away (`| head`): the flush at exit must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        print_error(f"{error.filename or 'input/output'}: {error.strerror or error}")
        code = 6
    sys.exit(code if isinstance(code, int) else 0)
