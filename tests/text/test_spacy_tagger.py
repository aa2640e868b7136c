from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anselect.errors import AnselectError, UsageError
from anselect.records import Entity
from anselect.text import spacy_tagger
from anselect.text.pipelines import InstalledPipeline, find_pipeline
from anselect.text.spacy_tagger import MAX_PIECE_CHARS, MAX_RUN_CHARS, SpacyTagger

spacy = pytest.importorskip("spacy")


def installed(name: str) -> InstalledPipeline:
    try:
        return find_pipeline(name)
    except AnselectError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tagger() -> SpacyTagger:
    return SpacyTagger(installed("en_core_web_sm"))


def tag_one(tagger: SpacyTagger, text: str) -> tuple[Entity, ...]:
    (entities,) = tagger.tag([text])
    assert all(text[entity.start : entity.end] == entity.text for entity in entities)
    return entities


# Loaded once per module; a tagger keeps no state between texts.
@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> InstalledPipeline:
    """A pipeline without weights: it finds Bell and Paris by rule, and loads at once."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Bell"}, {"label": "GPE", "pattern": "Paris"}])
    nlp.add_pipe("sentencizer")
    folder = tmp_path_factory.mktemp("pipelines") / "rules"
    nlp.to_disk(folder)
    return find_pipeline(str(folder))


@pytest.fixture(scope="module")
def by_rule(rules: InstalledPipeline) -> SpacyTagger:
    return SpacyTagger(rules)


def test_paper_example_has_its_person(tagger: SpacyTagger) -> None:
    found = tag_one(tagger, "The first telephone was invented by Alexander Graham Bell.")
    assert found == (Entity("first", "ORDINAL", 4, 9), Entity("Alexander Graham Bell", "PERSON", 36, 57))


def test_only_the_entity_component_is_loaded(tagger: SpacyTagger) -> None:
    tag_one(tagger, "Bell")
    assert tagger._load().pipe_names == ["ner"]


def test_md_copy_for_an_older_spacy_loads_without_a_warning() -> None:
    # Warnings are errors here, so that an unhandled W095 would fail.
    found = tag_one(SpacyTagger(installed("en_core_web_md")), "Alexander Graham Bell lived in Boston.")
    assert [(entity.text, entity.label) for entity in found] == [("Alexander Graham Bell", "PERSON"), ("Boston", "GPE")]


@pytest.mark.parametrize("text", ["", " ", "?!", "\0", "😀" * 50, "\n\n"], ids=ascii)
def test_texts_without_words_have_no_entities(tagger: SpacyTagger, text: str) -> None:
    assert tag_one(tagger, text) == ()


def test_emoji_and_lone_surrogates_keep_offsets_true(by_rule: SpacyTagger) -> None:
    assert tag_one(by_rule, "😀\ud800 Bell, \udfff") == (Entity("Bell", "PERSON", 3, 7),)


def test_entities_of_right_to_left_text_stand_where_they_say(tagger: SpacyTagger) -> None:
    text = "اخترع ألكسندر غراهام بيل الهاتف في عام 1876"
    assert all(text[entity.start : entity.end] == entity.text for entity in tag_one(tagger, text))


@pytest.mark.parametrize("filler", ["x ", "x"], ids=["words", "one_word"])
def test_long_text_is_tagged_in_pieces_with_true_offsets(by_rule: SpacyTagger, filler: str) -> None:
    text = filler * (100_000 // len(filler)) + " Bell saw Paris"
    assert [entity.text for entity in tag_one(by_rule, text)] == ["Bell", "Paris"]


@pytest.mark.parametrize("run", ["😀", "?", "(", "'s"], ids=ascii)
def test_what_stands_without_a_blank_is_cut_short(by_rule: SpacyTagger, run: str) -> None:
    text = f"Bell {run * 5000} Paris"
    assert tag_one(by_rule, text) == (
        Entity("Bell", "PERSON", 0, 4),
        Entity("Paris", "GPE", len(text) - 5, len(text)),
    )
    pieces = spacy_tagger._cut(text)
    assert "".join(pieces) == text
    assert max(len(word) for piece in pieces for word in piece.split()) == MAX_RUN_CHARS


def test_text_beyond_the_limit_of_spacy_is_taken(rules: InstalledPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = SpacyTagger(rules)
    monkeypatch.setattr(tagger._load(), "max_length", MAX_PIECE_CHARS)
    text = f"Bell {'x ' * MAX_PIECE_CHARS} Paris"
    assert [entity.text for entity in tag_one(tagger, text)] == ["Bell", "Paris"]


@pytest.mark.parametrize("bad", [None, b"Bell", 7])
def test_what_is_not_text_is_refused(by_rule: SpacyTagger, bad: object) -> None:
    with pytest.raises(UsageError, match=f"expected text 1 as text, got {type(bad).__name__}"):
        list(by_rule.tag(["Bell", bad]))  # type: ignore[list-item]


@pytest.mark.parametrize("bad", [None, "Bell", b"Bell", 7])
def test_what_is_no_list_of_texts_is_refused(by_rule: SpacyTagger, bad: Any) -> None:
    with pytest.raises(UsageError, match=f"expected a list of texts, got {type(bad).__name__}"):
        list(by_rule.tag(bad))


def test_batches_do_not_change_entities(by_rule: SpacyTagger, rules: InstalledPipeline) -> None:
    texts = ["Bell", "", "Paris", "in Paris with Bell"] * 3
    expected = list(by_rule.tag(texts))
    assert list(SpacyTagger(rules, batch_size=7).tag(texts)) == expected


def test_two_processes_find_the_same_in_the_same_order(
    by_rule: SpacyTagger, rules: InstalledPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spacy_tagger, "MIN_TEXTS_FOR_WORKERS", 20)
    texts = [f"{number} Bell" if number % 3 else f"{number} Paris" for number in range(200)]
    assert list(SpacyTagger(rules, n_process=2).tag(texts)) == list(by_rule.tag(texts))


def test_few_texts_start_no_workers(rules: InstalledPipeline) -> None:
    assert len(list(SpacyTagger(rules, n_process=2).tag(["Bell"] * 5))) == 5


def test_texts_are_read_as_they_are_needed(by_rule: SpacyTagger) -> None:
    seen = []
    stream = by_rule.tag(seen.append(number) or "Bell" for number in range(5_000))  # type: ignore[func-returns-value]
    next(stream)
    assert len(seen) < 5_000


def test_version_names_pipeline_and_spacy(rules: InstalledPipeline) -> None:
    assert SpacyTagger(rules).version == f"{rules.version} on spaCy {spacy.about.__version__}"


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0)])
def test_sizes_below_one_are_refused(rules: InstalledPipeline, sizes: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        SpacyTagger(rules, batch_size=sizes[0], n_process=sizes[1])


def test_pipeline_that_finds_no_entities_is_refused(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "plain")
    with pytest.raises(UsageError, match=r"finds entities, \S+ has sentencizer only"):
        next(SpacyTagger(find_pipeline(str(tmp_path / "plain"))).tag(["Bell"]))


def test_damaged_pipeline_gives_one_line(rules: InstalledPipeline, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    for name in ("config.cfg", "meta.json"):
        (folder / name).write_bytes((rules.path / name).read_bytes())
    with pytest.raises(AnselectError, match="does not load") as caught:
        next(SpacyTagger(find_pipeline(str(folder))).tag(["Bell"]))
    assert "\n" not in str(caught.value)
