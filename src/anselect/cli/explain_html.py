"""An explanation in, one self-contained HTML page out: no script, no other file, no network."""

from __future__ import annotations

import html
import re
from importlib.resources import files
from string import Template
from typing import Final

from anselect.cli.explain_evidence import STRONG, WORDS_COMPARED, comparison_summary, signed, signs, summary
from anselect.cli.explain_terminal import MATCH_SIGN, TYPE_WORDS
from anselect.text.entity_types import ENTITY_LABELS, labels_of
from anselect.text.explain import ExplainedCandidate, ExplainedEntity, Explanation
from anselect.text.explain_evidence import CandidateEvidence, Comparison, WordEvidence

PAGE: Final = "explain_page.html"
# Not allowed in HTML, or invisible there.
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def render_html(explanation: Explanation) -> str:
    """Return the page; every word of the user's is escaped, and each entity shows its label beside its colour."""
    page = Template(files("anselect.cli").joinpath(PAGE).read_text(encoding="utf-8"))
    has_labels = bool(labels_of(explanation.answer_type))
    return page.substitute(
        title=_escape(explanation.question[:80]),
        question=_escape(explanation.question),
        type=_escape(explanation.answer_type),
        type_words=TYPE_WORDS[explanation.answer_type],
        probability=f"{explanation.confidence:.3f}",
        percent=f"{100 * explanation.confidence:.1f}",
        fine=_escape(explanation.answer_type_fine),
        remark="" if has_labels else " No named entity answers such a question: nothing is highlighted.",
        sign=MATCH_SIGN,
        candidates=_candidates(explanation),
        legend="\n".join(_legend(kind, labels) for kind, labels in ENTITY_LABELS.items() if labels),
    )


def _candidates(explanation: Explanation) -> str:
    if not explanation.candidates:
        return "<h2>No candidates were given</h2>"
    items = [
        _candidate(candidate, place, explanation) for place, candidate in enumerate(explanation.candidates, start=1)
    ]
    by = f'\n<p class="signs">Scores and ranks by {_escape(explanation.model)}.</p>' if explanation.model else ""
    why = "" if explanation.comparison is None else "\n" + _comparison(explanation.comparison)
    return f"<h2>Candidates</h2>{by}\n<ol>\n" + "\n".join(items) + f"\n</ol>{why}"


def _candidate(candidate: ExplainedCandidate, place: int, explanation: Explanation) -> str:
    matches = sum(entity.matches for entity in candidate.entities)
    kind = explanation.answer_type
    verdict = f"{MATCH_SIGN} holds {matches} × {kind}" if matches else f"no {kind} entity"
    if not labels_of(kind):
        verdict = ""
    score = "" if candidate.score is None else f"<span>rank {candidate.rank}, score {candidate.score:.4f}</span>"
    parts = [
        f'<li class="{_escape(kind)}{" has-match" if matches else ""}">',
        f'<div class="about"><span>{place}</span>{score}<span class="verdict">{verdict}</span></div>',
        f'<p class="text" dir="auto">{_marked(candidate)}</p>',
    ]
    if candidate.highlighted != candidate.text:
        name = "highlighted" if candidate.score is None else "what the model reads"
        parts.append(f'<p class="reads" dir="auto"><b dir="ltr">{name}</b>{_escape(candidate.highlighted)}</p>')
    if candidate.evidence is not None:
        parts.append(_evidence(candidate.evidence))
    return "\n".join([*parts, "</li>"])


def _marked(candidate: ExplainedCandidate) -> str:
    pieces = []
    done = 0
    for entity in candidate.entities:
        pieces += [_escape(candidate.text[done : entity.start]), _mark(entity)]
        done = entity.end
    return "".join([*pieces, _escape(candidate.text[done:])])


def _mark(entity: ExplainedEntity) -> str:
    kind = entity.answer_type or "other"
    label = entity.label + (f" {MATCH_SIGN}" if entity.matches else "")
    return (
        f'<mark class="{kind}{" match" if entity.matches else ""}"><bdi>{_escape(entity.text)}</bdi>'
        f'<span class="label" dir="ltr">{_escape(label)}</span></mark>'
    )


def _evidence(evidence: CandidateEvidence) -> str:
    pieces, done = [], 0
    for word in evidence.words:
        pieces += [_escape(evidence.text[done : word.start]), _weighed(word)]
        done = word.end
    words = "".join([*pieces, _escape(evidence.text[done:])])
    about = f"which words raise (+) or lower (−) the score: {evidence.method}, {summary(evidence)}"
    return f'<p class="evidence" dir="auto"><b dir="ltr">{_escape(about)}</b>{words}</p>'


def _weighed(word: WordEvidence) -> str:
    if not word.is_read:
        return f'<span class="unread">{_escape(word.text)}</span>'
    kind = "up" if word.value >= 0 else "down"
    strength = min(1.0, abs(word.value) / STRONG)
    number = f'<sup dir="ltr">{signed(word.value, 1)}</sup>' if signs(word.value) else ""
    return f'<span class="{kind}" style="--strength:{strength:.2f}"><bdi>{_escape(word.text)}</bdi>{number}</span>'


def _comparison(comparison: Comparison) -> str:
    head = f"Why {comparison.first + 1} over {comparison.second + 1}"
    rows = [
        f"<tr><th><bdi>{_escape(word.text)}</bdi></th>"
        + "".join(f"<td>{signed(value)}</td>" for value in (word.first, word.second, word.difference))
        + "</tr>"
        for word in comparison.words[:WORDS_COMPARED]
    ]
    about = _escape(comparison_summary(comparison))
    names = f"<tr><th>word</th><td>in {comparison.first + 1}</td><td>in {comparison.second + 1}</td><td>difference</td>"
    table = f'<table class="why">\n{names}</tr>\n' + "\n".join(rows) + "\n</table>"
    return f'<h2>{head}</h2>\n<p class="signs">{about}</p>\n{table}'


def _legend(kind: str, labels: tuple[str, ...]) -> str:
    words = f"{TYPE_WORDS[kind]}: {', '.join(labels)}"
    return f'<div class="{kind}"><dt><span class="type">{kind}</span></dt><dd>{_escape(words)}</dd></div>'


def _escape(text: str) -> str:
    return html.escape(_CONTROL.sub("\ufffd", text))
