"""An explanation in, lines for a terminal out: entities coloured by answer type, the matching ones bold."""

from __future__ import annotations

import io
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anselect.cli.explain_evidence import Line, comparison_lines, evidence_lines, visible
from anselect.text.entity_types import labels_of
from anselect.text.explain import ExplainedCandidate, ExplainedEntity, Explanation

TYPE_WORDS: Final = {
    "ABBR": "an abbreviation or what one stands for",
    "DESC": "a description, a definition, a reason",
    "ENTY": "a thing, an event, a work",
    "HUM": "a person or a group",
    "LOC": "a place",
    "NUM": "a number, a date, an amount",
}
TYPE_COLOURS: Final = {"ENTY": "magenta", "HUM": "blue", "LOC": "green", "NUM": "yellow"}
OTHER_COLOUR: Final = "cyan"
MATCH_SIGN: Final = "✓"


def print_explanation(explanation: Explanation) -> None:
    """Print on stdout, in colour on a terminal (unless NO_COLOR is set), wrapped to its width."""
    _write(explanation, Console(highlight=False))


def render_text(explanation: Explanation) -> str:
    """Return the same lines without colour."""
    file = io.StringIO()
    _write(explanation, Console(file=file, highlight=False, force_terminal=False, no_color=True))
    return file.getvalue()


def _write(explanation: Explanation, console: Console) -> None:
    comparison = [comparison_lines(explanation.comparison)] if explanation.comparison else []
    for lines in [_head(explanation), *_candidates(explanation), *comparison]:
        for prefix, text in lines:
            if console.is_terminal:
                # A grid lets wrapped lines hang under the text, not under the prefix.
                grid = Table.grid()
                grid.add_row(Text(prefix, "dim"), text)
                console.print(grid)
            else:
                # Piped on, a candidate stays in one line, for readers such as grep.
                console.print(Text(prefix) + text, soft_wrap=True)
        console.print()


def _head(explanation: Explanation) -> list[Line]:
    expects = Text.assemble(
        (explanation.answer_type, f"bold {_colour(explanation.answer_type)}"),
        f" {TYPE_WORDS[explanation.answer_type]}",
        f"  (probability {explanation.confidence:.3f}, more exactly {explanation.answer_type_fine})",
    )
    lines = [("question ", Text(visible(explanation.question), "bold")), ("expects  ", expects)]
    if explanation.model is not None:
        lines.append(("scores   ", Text(f"by {visible(explanation.model)}")))
    if explanation.candidates and not labels_of(explanation.answer_type):
        lines.append((" " * 9, Text("no named entity answers such a question: nothing is highlighted", "dim")))
    return lines


def _candidates(explanation: Explanation) -> list[list[Line]]:
    width = len(str(len(explanation.candidates)))
    return [
        _candidate(candidate, f"{place:>{width}}  ") for place, candidate in enumerate(explanation.candidates, start=1)
    ]


def _candidate(candidate: ExplainedCandidate, number: str) -> list[Line]:
    text = Text(visible(candidate.text))
    for entity in candidate.entities:
        text.stylize(_style(entity), entity.start, entity.end)
    entities = Text(", ").join(map(_entity, candidate.entities)) if candidate.entities else Text("none", "dim")
    read = "highlighted" if candidate.score is None else "reads as"
    indent = " " * len(number)
    lines = [(number, text)]
    if candidate.score is not None:
        lines.append((f"{indent}score     ", Text(f"{candidate.score:.4f}, rank {candidate.rank}")))
    lines.append((f"{indent}{'entities':<{len(read)}}  ", entities))
    if candidate.highlighted != candidate.text:
        lines.append((f"{indent}{read}  ", Text(visible(candidate.highlighted))))
    if candidate.evidence is not None:
        lines += [(f"{indent}{prefix}", line) for prefix, line in evidence_lines(candidate.evidence)]
    return lines


def _entity(entity: ExplainedEntity) -> Text:
    kind = f"{entity.label} → {entity.answer_type}" if entity.answer_type else entity.label
    sign = f" {MATCH_SIGN}" if entity.matches else ""
    return Text.assemble((visible(entity.text), _style(entity)), f" [{kind}{sign}]")


def _style(entity: ExplainedEntity) -> str:
    return f"bold {_colour(entity.answer_type)}" if entity.matches else _colour(entity.answer_type)


def _colour(answer_type: str | None) -> str:
    return TYPE_COLOURS.get(answer_type or "", OTHER_COLOUR)
