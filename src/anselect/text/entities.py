"""Texts in, named entities out: what a tagger is, a tagger that remembers, and how to get the usual one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from anselect.records import Entity
from anselect.text.entity_cache import EntityCache, cache_key
from anselect.text.pipelines import find_pipeline
from anselect.text.spacy_tagger import SpacyTagger
from anselect.text.texts import each_text

# How many texts are looked up and, where new, tagged together. Worker processes pay only for many.
TEXTS_PER_STEP: Final = 1_000
TEXTS_PER_WORKER_STEP: Final = 20_000
# A kill loses at most this many texts' entities.
_ENTRIES_PER_TRANSACTION: Final = 500


class EntityTagger(Protocol):
    """Finds named entities; the same name and version always find the same in a text."""

    @property
    def name(self) -> str:
        """Which tagger, such as a pipeline's name."""

    @property
    def version(self) -> str:
        """Changes whenever the entities may change."""

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        """Yield the entities of each text, in order; they do not overlap and stand in the order of the text."""


class CachedTagger:
    """Another tagger with a memory on disk: only texts that it never saw are tagged."""

    def __init__(self, tagger: EntityTagger, cache: EntityCache, *, texts_per_step: int = TEXTS_PER_STEP) -> None:
        self._tagger = tagger
        self._cache = cache
        self._texts_per_step = texts_per_step

    @property
    def name(self) -> str:
        return self._tagger.name

    @property
    def version(self) -> str:
        return self._tagger.version

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        """Yield the entities of each text, in order; the texts are read in steps."""
        stream = each_text(texts)
        while step := list(islice(stream, self._texts_per_step)):
            yield from self._tag_step(step)

    def _tag_step(self, texts: Sequence[str]) -> Iterator[tuple[Entity, ...]]:
        name, version = self._tagger.name, self._tagger.version
        keys = [cache_key(name, version, text) for text in texts]
        found = self._cache.get(keys, texts)
        missing = {key: text for key, text, entities in zip(keys, texts, found, strict=True) if entities is None}
        tagged = self._tag_missing(missing) if missing else {}
        for key, entities in zip(keys, found, strict=True):
            yield tagged[key] if entities is None else entities

    def _tag_missing(self, missing: dict[bytes, str]) -> dict[bytes, tuple[Entity, ...]]:
        tagged: dict[bytes, tuple[Entity, ...]] = {}
        results = zip(missing, self._tagger.tag(missing.values()), strict=True)
        while part := dict(islice(results, _ENTRIES_PER_TRANSACTION)):
            self._cache.put(part)
            tagged |= part
        return tagged


def load_tagger(
    pipeline: str | None = None,
    *,
    n_process: int = 1,
    batch_size: int = 64,
    use_cache: bool = True,
    cache_folder: Path | None = None,
) -> EntityTagger:
    """Get a tagger: a spaCy pipeline by name or folder (by default the first installed of sm, md, lg, trf), with cache.

    Raises MissingExtraError without spaCy and MissingFileError without the pipeline; both carry the line to install it.
    spaCy itself is imported when the first text is tagged that the cache does not know.
    """
    tagger = SpacyTagger(find_pipeline(pipeline), batch_size=batch_size, n_process=n_process)
    if not use_cache:
        return tagger
    step = TEXTS_PER_STEP if n_process == 1 else TEXTS_PER_WORKER_STEP
    return CachedTagger(tagger, EntityCache(cache_folder), texts_per_step=step)
