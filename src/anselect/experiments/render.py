"""A sheet in, Markdown, LaTeX, CSV or JSON text out; the terminal's table is drawn by the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from anselect.experiments.markdown import markdown_row
from anselect.experiments.sheet import Entry, Sheet

LATEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    "–": "--",
    "<": r"$<$",
    ">": r"$>$",
}


def plain_entry(entry: Entry) -> str:
    """Return an entry with its marks as the terminal shows them.

    >>> plain_entry(Entry("0.5", is_best=True, footnotes=(1,)))
    '0.5 * [1]'
    """
    notes = "".join(f" [{number}]" for number in entry.footnotes)
    return entry.text + (" *" if entry.is_best else "") + (" †" if entry.is_worse else "") + notes


def to_markdown(sheet: Sheet) -> str:
    """Write a Markdown table; figures link to their run folder, the best are bold."""
    lines = [f"### {sheet.title}", "", markdown_row([_md(header) for header in sheet.headers])]
    lines.append(markdown_row(["---"] + ["---:"] * (len(sheet.headers) - 1)))
    lines += [markdown_row([_markdown_entry(entry) for entry in line]) for line in sheet.lines]
    lines += ["", *(_md(caption) + "  " for caption in sheet.captions)]
    lines += [f"[{number}] {_md(note)}  " for number, note in enumerate(sheet.footnotes, start=1)]
    return "\n".join(lines) + "\n"


def to_latex(sheet: Sheet) -> str:
    """Write a LaTeX table for the booktabs package; run folders stand in comments."""
    caption = " ".join((f"{sheet.title}.", *sheet.captions))
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(sheet.headers) - 1)}}}", r"\toprule"]
    lines += [_ampersands([escape_latex(header) for header in sheet.headers]), r"\midrule"]
    for line in sheet.lines:
        lines.append(_ampersands([_latex_entry(entry) for entry in line]))
        lines += [f"% runs: {link}" for link in dict.fromkeys(entry.link for entry in line if entry.link)]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{escape_latex(caption)}}}"]
    notes = [rf"$^{{{number}}}$ {escape_latex(note)}\\" for number, note in enumerate(sheet.footnotes, start=1)]
    return "\n".join([*lines, *notes, r"\end{table}"]) + "\n"


def to_csv(sheet: Sheet) -> str:
    """Write a line for each figure, unrounded; lists are joined by `;`."""
    file = io.StringIO()
    columns = list(sheet.records[0]) if sheet.records else []
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _csv_value(value) for key, value in record.items()} for record in sheet.records)
    return file.getvalue()


def to_json(sheet: Sheet) -> str:
    """Write title, captions, footnotes and every figure, unrounded."""
    value = {
        "title": sheet.title,
        "captions": sheet.captions,
        "footnotes": sheet.footnotes,
        "figures": [dict(record) for record in sheet.records],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


FORMATS: Final[Mapping[str, Callable[[Sheet], str]]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
    "json": to_json,
}


def escape_latex(text: str) -> str:
    r"""Write text so that LaTeX prints it as it is.

    >>> print(escape_latex("50 % of a_b & c\\d ±"))
    50 \% of a\_b \& c\textbackslash{}d $\pm$
    """
    return "".join(LATEX.get(character, character) for character in text)


def _markdown_entry(entry: Entry) -> str:
    ours, blank, rest = entry.text.partition(" ")
    text = _md(ours)
    if entry.link:
        # A blank or a bracket would end the address early.
        address = re.sub(r"[ ()<>]", lambda found: f"%{ord(found[0]):02X}", entry.link)
        text = f"[{text}]({address})"
    if not entry.link:
        text, rest = _md(entry.text), ""
    text = f"**{text}**" if entry.is_best else text
    notes = "".join(f" \\[{number}\\]" for number in entry.footnotes)
    return text + (f"{blank}{_md(rest)}" if rest else "") + (" †" if entry.is_worse else "") + notes


def _latex_entry(entry: Entry) -> str:
    ours, blank, rest = entry.text.partition(" ")
    text = rf"\textbf{{{escape_latex(ours)}}}" if entry.is_best else escape_latex(ours)
    dagger = LATEX["†"] if entry.is_worse else ""
    notes = "".join(f"$^{{{number}}}$" for number in entry.footnotes)
    return text + dagger + blank + re.sub(r"-(?=\d)", "$-$", escape_latex(rest)) + notes


def _md(text: str) -> str:
    """Keep text from being read as Markdown."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def _ampersands(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _csv_value(value: Any) -> Any:  # noqa: ANN401 - a value of any record
    return ";".join(map(str, value)) if isinstance(value, list) else value
