"""`anselect data convert`: questions from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anselect.cli.output import print_note, print_warning
from anselect.data.convert import Conversion, require_free
from anselect.data.convert import convert as convert_file
from anselect.data.format_table import READABLE_FORMATS, WRITABLE_FORMATS

INPUT_HELP = f"One of {', '.join(READABLE_FORMATS)}. Detected by default."
OUTPUT_HELP = f"One of {', '.join(WRITABLE_FORMATS)}. By default OUT's ending tells."


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="File or folder to read, or a data set's name; - is stdin.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File or folder to write; - is stdout, .gz is gzip.")],
    input_format: Annotated[str | None, typer.Option(help=INPUT_HELP)] = None,
    output_format: Annotated[str | None, typer.Option(help=OUTPUT_HELP)] = None,
    split: Annotated[
        str | None, typer.Option(help="Which split of a data set, or of a file that holds several.")
    ] = None,
    detokenize: Annotated[bool, typer.Option("--detokenize", help="Turn Penn Treebank tokens into text.")] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with data sets, searched before $ANSELECT_DATA and the cache.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT where it is there already.")] = False,
) -> None:
    """Write the questions of IN in the format of OUT; what OUT's format cannot hold is named on stderr."""
    if not force:
        require_free(target)
    conversion = convert_file(
        source,
        target,
        input_format=input_format,
        output_format=output_format,
        split=split,
        detokenize=detokenize,
        data_dir=data_dir,
    )
    _report(conversion)


def _report(conversion: Conversion) -> None:
    formats = f"{conversion.source_format} to {conversion.target_format}"
    print_note(f"{formats}: {conversion.questions:,} questions, {conversion.candidates:,} candidates")
    if conversion.losses:
        losses = ", ".join(f"{what} ({count:,})" for what, count in conversion.losses.items())
        print_warning(f"{conversion.target_format} cannot hold everything, dropped or changed: {losses}")
