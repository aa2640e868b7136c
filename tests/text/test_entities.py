from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anselect.errors import MissingExtraError, UsageError
from anselect.records import Entity
from anselect.text.entities import CachedTagger, EntityTagger, load_tagger
from anselect.text.entity_cache import EntityCache
from anselect.text.spacy_tagger import SpacyTagger


class CapitalTagger:
    """Finds every capital letter, and remembers which texts it saw."""

    name = "capitals"

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.seen: list[str] = []

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        for text in texts:
            self.seen.append(text)
            yield tuple(Entity(c, "ORG", place, place + 1) for place, c in enumerate(text) if c in "ABC")


def test_nothing_is_tagged_twice(tmp_path: Path) -> None:
    tagger = CapitalTagger()
    cached = CachedTagger(tagger, EntityCache(tmp_path))
    first = list(cached.tag(["A b", "b", "A b", "C"]))
    assert tagger.seen == ["A b", "b", "C"]
    assert first[0] == first[2] == (Entity("A", "ORG", 0, 1),)
    again = CachedTagger(CapitalTagger(), EntityCache(tmp_path))
    assert list(again.tag(["C", "A b", "b", "A b"])) == [first[3], first[0], first[1], first[2]]
    assert tagger.seen == ["A b", "b", "C"]


def test_another_version_is_tagged_anew(tmp_path: Path) -> None:
    list(CachedTagger(CapitalTagger("1"), EntityCache(tmp_path)).tag(["A"]))
    newer = CapitalTagger("2")
    list(CachedTagger(newer, EntityCache(tmp_path)).tag(["A"]))
    assert newer.seen == ["A"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(st.text("ABCx ", max_size=4), max_size=12), texts_per_step=st.integers(1, 5))
def test_cached_and_plain_taggers_agree(tmp_path: Path, texts: list[str], texts_per_step: int) -> None:
    cached = CachedTagger(CapitalTagger(), EntityCache(tmp_path), texts_per_step=texts_per_step)
    assert list(cached.tag(texts)) == list(CapitalTagger().tag(texts))


def test_without_a_writable_folder_everything_is_tagged(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cached = CachedTagger(CapitalTagger(), EntityCache(tmp_path / "file"))
    assert list(cached.tag(["A", "x"])) == [(Entity("A", "ORG", 0, 1),), ()]


def test_texts_are_read_in_steps(tmp_path: Path) -> None:
    taken: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(100):
            taken.append(number)
            yield str(number)

    next(CachedTagger(CapitalTagger(), EntityCache(tmp_path), texts_per_step=10).tag(texts()))
    assert len(taken) == 10


@pytest.mark.parametrize("bad", [None, b"A"])
def test_what_is_not_text_is_refused(tmp_path: Path, bad: object) -> None:
    with pytest.raises(UsageError, match=r"^expected text 1 as text, got"):
        list(CachedTagger(CapitalTagger(), EntityCache(tmp_path)).tag(["A", bad]))  # type: ignore[list-item]


@pytest.mark.parametrize("bad", [None, "Bell", b"Bell"])
def test_what_is_no_list_of_texts_is_refused(tmp_path: Path, bad: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected a list of texts, got"):
        list(CachedTagger(CapitalTagger(), EntityCache(tmp_path)).tag(bad))


def test_interrupted_tagging_keeps_what_was_done(tmp_path: Path) -> None:
    class Failing(CapitalTagger):
        def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
            for number, entities in enumerate(super().tag(texts)):
                if number == 700:
                    raise KeyboardInterrupt
                yield entities

    texts = [f"A{number}" for number in range(900)]
    with pytest.raises(KeyboardInterrupt):
        list(CachedTagger(Failing(), EntityCache(tmp_path)).tag(texts))
    second = CapitalTagger()
    list(CachedTagger(second, EntityCache(tmp_path)).tag(texts))
    assert len(second.seen) == 400


def write_rules(folder: Path) -> Path:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Bell"}])
    nlp.to_disk(folder)
    return folder


def test_load_tagger_remembers_in_the_given_folder(tmp_path: Path) -> None:
    folder = write_rules(tmp_path / "rules")
    tagger: EntityTagger = load_tagger(str(folder), cache_folder=tmp_path / "cache")
    assert list(tagger.tag(["Bell did."])) == [(Entity("Bell", "PERSON", 0, 4),)]
    assert len(EntityCache(tmp_path / "cache")) == 1


def test_known_texts_need_no_pipeline_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_rules(tmp_path / "rules")
    first = list(load_tagger(str(folder), cache_folder=tmp_path / "cache").tag(["Bell did."]))
    monkeypatch.setattr(SpacyTagger, "_load", lambda _: pytest.fail("the pipeline was loaded"))
    assert list(load_tagger(str(folder), cache_folder=tmp_path / "cache").tag(["Bell did."])) == first


def test_load_tagger_without_cache_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tagger = load_tagger(str(write_rules(tmp_path / "rules")), use_cache=False)
    assert isinstance(tagger, SpacyTagger)
    list(tagger.tag(["Bell"]))
    assert not (tmp_path / "cache").exists()


def test_load_tagger_without_spacy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'anselect\[text\]'"):
        load_tagger()
