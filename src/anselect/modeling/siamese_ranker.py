"""The siamese feature model as a ranker: questions in, (1 + cosine) / 2 of each candidate out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from anselect.data.user_cache import user_cache
from anselect.errors import MissingFileError
from anselect.modeling.checkpoint import save_checkpoint
from anselect.modeling.elmo import Elmo
from anselect.modeling.encoders import load_encoder, load_tokenizer
from anselect.modeling.features import ElmoFeatures, EncoderFeatures, Features, FeatureStore
from anselect.modeling.glove import GloveTable, glove_width, read_glove
from anselect.modeling.siamese import SiameseModel, pad_features
from anselect.modeling.words import split_words
from anselect.records import Question, ScoredQuestions

PAIRS_PER_BATCH: Final = 64


class FeatureReader(Protocol):
    """Gives the frozen token features of texts that were announced."""

    @property
    def width(self) -> int:
        """D, the length of a token's vector."""

    def prepare(self, texts: Iterable[str]) -> None:
        """Make the features of these texts ready, many at once."""

    def get(self, text: str) -> Features:
        """Return a text's features (tokens, D)."""


class GloveReader:
    """GloVe vectors looked up word by word; the file is read once for each set of texts, nothing is kept on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.width = glove_width(path)
        self._known: set[str] = set()
        self._table: GloveTable | None = None

    def prepare(self, texts: Iterable[str]) -> None:
        """Read the vectors of the texts' words, if some were never asked for."""
        words = {word for text in texts for word in split_words(text)} | self._known
        if self._table is None or words != self._known:
            self._table, self._known = read_glove(self._path, words), words

    def get(self, text: str) -> Features:
        """Return the vectors of a text's words."""
        if self._table is None:
            self.prepare([text])
        return self._table.embed(split_words(text))  # type: ignore[union-attr]


class StoredReader:
    """Features of a slow source (ELMo, an encoder), extracted once and kept on disk."""

    def __init__(self, store: FeatureStore) -> None:
        self._store = store
        self.width = store.source.width

    def prepare(self, texts: Iterable[str]) -> None:
        """Extract what is not on disk yet."""
        self._store.add(texts)

    def get(self, text: str) -> Features:
        """Return a text's features, mapped from disk."""
        return self._store.get(text)


def open_features(kind: str, name: str, *, max_tokens: int = 512, folder: Path | None = None) -> FeatureReader:
    """Open a source of features: `glove` (a file of vectors), `elmo` (a folder), `encoder` (any that loads)."""
    if kind == "glove":
        if not Path(name).is_file():
            raise MissingFileError(f"{name}: no such file of GloVe vectors: set model.encoder to one")
        return GloveReader(Path(name))
    folder = folder or user_cache("features")
    if kind == "elmo":
        elmo = _load_elmo(Path(name))
        return StoredReader(FeatureStore(ElmoFeatures(elmo, Path(name).name), folder))
    source = EncoderFeatures(load_encoder(name), load_tokenizer(name), name, max_tokens=max_tokens)
    return StoredReader(FeatureStore(source, folder))


@dataclass(frozen=True, slots=True)
class SiameseRanker:
    """A siamese model with the features that it reads."""

    model: SiameseModel
    features: FeatureReader

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score every candidate by (1 + cosine) / 2."""
        pairs = [(question.text, candidate.text) for question in questions for candidate in question.candidates]
        self.features.prepare(text for pair in pairs for text in pair)
        most = self.model.config.max_tokens
        flat: list[float] = []
        cut = 0
        for start in range(0, len(pairs), PAIRS_PER_BATCH):
            batch = pairs[start : start + PAIRS_PER_BATCH]
            asked, candidates = ([self.features.get(pair[side]) for pair in batch] for side in (0, 1))
            cut += sum(len(features) > most for features in candidates)
            padded = (pad_features(side, max_tokens=most) for side in (asked, candidates))
            flat += self.model.score(*padded).double().tolist()
        return ScoredQuestions.from_flat(questions, flat, cut)

    def save(self, folder: Path) -> None:
        """Write the model; features are named in its config, not copied."""
        save_checkpoint(self.model, None, folder)


def _load_elmo(folder: Path) -> Elmo:
    options, weights = folder / "options.json", sorted(folder.glob("*weights.hdf5"))
    if not options.is_file() or not weights:
        raise MissingFileError(f"{folder}: expected options.json and *weights.hdf5 of ELMo, they are not there")
    return Elmo.load(options, weights[0])
