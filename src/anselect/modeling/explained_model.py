"""A model's folder or Hub id in; the network with its text steps out, for those who look inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from anselect.errors import UsageError
from anselect.modeling.checkpoint import MANIFEST, model_folder
from anselect.modeling.evidence import find_evidence
from anselect.modeling.hub import find_model
from anselect.modeling.rankers import CrossEncoderRanker, TrainedRanker, load_ranker
from anselect.modeling.selector_ranker import ModelRanker
from anselect.modeling.siamese_ranker import SiameseRanker
from anselect.modeling.similarity import (
    WordSimilarity,
    cross_encoder_similarity,
    siamese_similarity,
    word_features_of,
)
from anselect.text.explain_evidence import CandidateEvidence, Method
from anselect.text.explain_texts import prepare_texts


@dataclass(frozen=True, slots=True)
class ExplainedModel:
    """A trained ranker that is asked for reasons, on the caller's plain texts."""

    ranker: TrainedRanker
    scorer: ModelRanker
    """The same ranker behind the face that a selector takes."""

    def evidence(self, question: str, candidates: Sequence[str], method: Method | str) -> list[CandidateEvidence]:
        """Say what each word of each candidate does to its score; raise UsageError for a siamese model."""
        if not isinstance(self.ranker, CrossEncoderRanker):
            raise UsageError("expected a cross-encoder for token evidence, got a siamese model: use --heatmap")
        read, texts = prepare_texts(self.scorer.steps, question, candidates)
        return find_evidence(self.ranker, read, texts, method=method)

    def similarities(self, question: str, candidates: Sequence[str]) -> list[WordSimilarity]:
        """Return, for each candidate, the cosines between the question's words and its own in the last layer."""
        read, texts = prepare_texts(self.scorer.steps, question, candidates)
        if isinstance(self.ranker, SiameseRanker):
            features = word_features_of(self.ranker)
            return [siamese_similarity(self.ranker.model, features, read, text) for text in texts]
        if isinstance(self.ranker, CrossEncoderRanker):
            return [cross_encoder_similarity(self.ranker, read, text) for text in texts]
        raise UsageError(f"expected a cross-encoder or a siamese model, got {type(self.ranker).__name__}")


def load_explained_model(model: str | PathLike[str]) -> ExplainedModel:
    """Load a model that anselect trained, by its run's folder, its own or a Hub id."""
    name = fspath(model)
    folder = model_folder(find_model(name))
    if folder.is_dir() and not (folder / MANIFEST).is_file():
        raise UsageError(f"{name}: expected a model that anselect trained, got another: reasons cannot be read off it")
    ranker = load_ranker(folder)
    return ExplainedModel(ranker, ModelRanker(ranker, name))
