"""Texts in, named entities out, by a spaCy pipeline of which only the parts that find entities are loaded."""

from __future__ import annotations

import importlib.metadata
import logging
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Final

from anselect.errors import AnselectError, UsageError
from anselect.records import Entity
from anselect.text.pipelines import InstalledPipeline
from anselect.text.texts import each_text

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

logger = logging.getLogger(__name__)

# spaCy refuses texts above a million characters and needs memory in proportion: longer texts are tagged in pieces.
MAX_PIECE_CHARS: Final = 20_000
# Its tokenizer takes time in the square of what stands without a blank: 20,000 emoji would take minutes.
MAX_RUN_CHARS: Final = 200
_LONG_RUN: Final = re.compile(rf"\S{{{MAX_RUN_CHARS + 1},}}")
# Starting worker processes takes about as long as tagging this many sentences.
MIN_TEXTS_FOR_WORKERS: Final = 2_000
_TEXTS_PER_STEP: Final = 1_000
_TEXTS_PER_WORKER_STEP: Final = 20_000
ENTITY_FACTORIES: Final = frozenset({"ner", "beam_ner", "entity_ruler", "span_ruler"})
ENCODER_FACTORIES: Final = frozenset({"tok2vec", "transformer", "curated_transformer"})
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

Span = tuple[int, int, str]
"""Start, end and label of an entity in one piece of text."""


class SpacyTagger:
    """Tags with one pipeline, loaded at the first text that is tagged: importing spaCy takes seconds.

    `n_process` above 1 tags long streams (over MIN_TEXTS_FOR_WORKERS texts) in that many worker processes.
    """

    def __init__(self, pipeline: InstalledPipeline, *, batch_size: int = 64, n_process: int = 1) -> None:
        if batch_size < 1 or n_process < 1:
            raise UsageError(f"expected batch_size and n_process of at least 1, got {batch_size} and {n_process}")
        self._pipeline = pipeline
        self._batch_size = batch_size
        self._n_process = n_process
        self._spacy_version = importlib.metadata.version("spacy")
        self._nlp: Language | None = None
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        return self._pipeline.name

    @property
    def version(self) -> str:
        """The pipeline's version and spaCy's: either may change what is found."""
        return f"{self._pipeline.version} on spaCy {self._spacy_version}"

    @property
    def n_process(self) -> int:
        return self._n_process

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        """Yield the entities of each text, in order, as the texts come; offsets are into the text as given."""
        stream = each_text(texts)
        if self._n_process > 1:
            head = list(islice(stream, MIN_TEXTS_FOR_WORKERS))
            stream = chain(head, stream)
            if len(head) == MIN_TEXTS_FOR_WORKERS:
                yield from self._tag_in_workers(stream)
                return
        while step := list(islice(stream, _TEXTS_PER_STEP)):
            yield from self._tag_step(step)

    def _tag_step(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        pieces = [_cut(text) for text in texts]
        # One thread at a time: the vocabulary is shared, and the zone that gives memory back must not be nested.
        with self._lock:
            nlp = self._load()
            with nlp.memory_zone():
                docs = nlp.pipe(chain.from_iterable(pieces), batch_size=self._batch_size)
                found = [_spans(doc) for doc in docs]
        return list(_join(texts, pieces, iter(found)))

    def _tag_in_workers(self, texts: Iterator[str]) -> Iterator[tuple[Entity, ...]]:
        nlp = self._load()
        while step := list(islice(texts, _TEXTS_PER_WORKER_STEP)):
            pieces = [_cut(text) for text in step]
            flat = chain.from_iterable(pieces)
            docs = nlp.pipe(flat, batch_size=self._batch_size, n_process=self._n_process)
            yield from _join(step, pieces, map(_spans, docs))

    def _load(self) -> Language:
        with self._lock:
            if self._nlp is None:
                self._nlp = _load_for_entities(self._pipeline, self._spacy_version)
        return self._nlp


def _load_for_entities(pipeline: InstalledPipeline, spacy_version: str) -> Language:
    import spacy

    with warnings.catch_warnings():
        if pipeline.accepted_spacy and spacy_version.startswith(f"{pipeline.accepted_spacy}."):
            # W095 says "may not be compatible". This pair of versions was looked at; any other still warns.
            warnings.filterwarnings("ignore", message=r"\[W095\]")
            logger.info("%s %s is used with spaCy %s", pipeline.name, pipeline.version, spacy_version)
        try:
            config = spacy.util.load_config(pipeline.path / "config.cfg")
            return spacy.load(pipeline.path, exclude=_unneeded_components(config["components"], pipeline))
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise AnselectError(f"{pipeline.path}: spaCy pipeline {pipeline.name} does not load: {reason}") from error


def _unneeded_components(components: Mapping[str, Mapping[str, Any]], pipeline: InstalledPipeline) -> list[str]:
    """Name the components that do not help to find entities.

    In sm, md and lg the entity component has an encoder of its own, so that the shared one goes too: the same
    entities in half the time. In trf it listens to the shared transformer, which then stays.
    """
    finders = {name for name, about in components.items() if about.get("factory") in ENTITY_FACTORIES}
    if not finders:
        raise UsageError(f"expected a pipeline that finds entities, {pipeline.name} has {', '.join(components)} only")
    listens = any("Listener" in str(components[name].get("model")) for name in finders)
    encoders = {name for name, about in components.items() if about.get("factory") in ENCODER_FACTORIES and listens}
    return [name for name in components if name not in finders | encoders]


def _cut(text: str) -> list[str]:
    """Cut a text into pieces that spaCy takes, at the last blank where there is one; joined they have its length."""
    # A lone surrogate cannot be encoded; the replacement has the same length, so that offsets stay true.
    text = _SURROGATES.sub("\ufffd", text)
    runs = _LONG_RUN.finditer(text)
    cuts = [cut for run in runs for cut in range(run.start() + MAX_RUN_CHARS, run.end(), MAX_RUN_CHARS)]
    return [piece for start, end in pairwise([0, *cuts, len(text)]) for piece in _cut_at_blanks(text[start:end])]


def _cut_at_blanks(text: str) -> list[str]:
    pieces = []
    while len(text) > MAX_PIECE_CHARS:
        end = text.rfind(" ", 0, MAX_PIECE_CHARS) + 1 or MAX_PIECE_CHARS
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]


def _spans(doc: Doc) -> list[Span]:
    return [(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]


def _join(
    texts: Iterable[str], pieces: Iterable[Sequence[str]], found: Iterator[list[Span]]
) -> Iterator[tuple[Entity, ...]]:
    for text, parts in zip(texts, pieces, strict=True):
        entities = []
        offset = 0
        for part in parts:
            for start, end, label in next(found):
                entities.append(Entity(text[offset + start : offset + end], label, offset + start, offset + end))
            offset += len(part)
        yield tuple(entities)
