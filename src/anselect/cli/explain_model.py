"""What `anselect explain` asks a model for: scores, evidence and heat maps, with the heavy libraries loaded late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anselect.cli.candidates import note_cut_candidates
from anselect.cli.output import print_note, print_warning
from anselect.engine.folder import is_engine_folder, model_path
from anselect.errors import MissingExtraError, UsageError
from anselect.experiments.figures.heatmaps import Heatmap, draw_heatmaps
from anselect.experiments.figures.style import check_format, save_figure
from anselect.selector import AnswerSelector, load
from anselect.text.explain import Explanation, add_evidence, add_ranking, replace_read_texts
from anselect.text.explain_evidence import Method
from anselect.text.explain_texts import prepare_texts

if TYPE_CHECKING:
    from anselect.modeling.explained_model import ExplainedModel

LARGEST_GAP = 0.1
"""Logits. A larger gap of integrated gradients is worth a warning."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked of the model."""

    model: str | None
    evidence: Method | None
    heatmap: Path | None

    def check(self, texts: Sequence[str]) -> None:
        """Raise UsageError, before anything is loaded, for wishes that cannot be met."""
        if self.heatmap is not None:
            check_format(self.heatmap)
        if self.model is None and self.is_inside:
            raise UsageError("expected --model with --evidence and --heatmap: name the model to look into")
        if self.model is not None and not texts:
            raise UsageError("expected candidates for --model to score, got none: give them after the question")
        if self.is_inside and is_engine_folder(model_path(self.model)):
            raise UsageError(f"{self.model}: expected a run or a model with its weights, got an exported one")

    @property
    def is_inside(self) -> bool:
        """Whether scores alone are not enough."""
        return self.evidence is not None or self.heatmap is not None


def ask_model(explanation: Explanation, texts: list[str], wishes: Wishes) -> Explanation:
    """Add what the model says to an explanation, and write the heat map."""
    if wishes.model is None:
        return explanation
    inside = _load_inside(wishes.model) if wishes.is_inside else None
    selector = load(wishes.model) if inside is None else AnswerSelector(inside.scorer)
    ranking = selector.rank(explanation.question, texts)
    note_cut_candidates(ranking)
    explanation = add_ranking(explanation, ranking, model=selector.description)
    read = prepare_texts(selector.steps, explanation.question, texts)[1]
    explanation = replace_read_texts(explanation, [each.text for each in read])
    if inside is not None and wishes.evidence is not None:
        explanation = add_evidence(explanation, inside.evidence(explanation.question, texts, wishes.evidence))
        _warn_of_gaps(explanation)
    if inside is not None and wishes.heatmap is not None:
        save_figure(draw_heatmaps(_heatmaps(explanation, inside, texts), title=explanation.question), wishes.heatmap)
        print_note(f"wrote {wishes.heatmap}")
    return explanation


def _load_inside(model: str) -> ExplainedModel:
    try:
        from anselect.modeling.explained_model import load_explained_model
    except ImportError as error:
        raise MissingExtraError("train", error.name or "torch") from error
    return load_explained_model(model)


def _heatmaps(explanation: Explanation, inside: ExplainedModel, texts: list[str]) -> list[Heatmap]:
    maps = []
    found = inside.similarities(explanation.question, texts)
    for number, (candidate, similarity) in enumerate(zip(explanation.candidates, found, strict=True), start=1):
        values = None
        title = f"candidate {number}: rank {candidate.rank}, score {candidate.score:.4f}"
        if candidate.evidence is not None:
            values = tuple(word.value for word in candidate.evidence.words if word.is_read)
            title += f"; bars: {candidate.evidence.method}"
        maps.append(Heatmap(title, similarity.question, similarity.candidate, similarity.cosines, values))
    return maps


def _warn_of_gaps(explanation: Explanation) -> None:
    gaps = [abs(candidate.evidence.gap or 0.0) for candidate in explanation.candidates if candidate.evidence]
    if max(gaps, default=0.0) > LARGEST_GAP:
        print_warning(f"integrated gradients do not add up (largest gap {max(gaps):.2f} logits): trust occlusion more")
