from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.errors import UsageError
from anselect.records import Candidate, Entity, Question
from anselect.text.entities import EntityTagger, load_tagger
from anselect.text.entity_types import ALL_LABELS, ENTITY_LABELS
from anselect.text.highlight import (
    Highlighted,
    Way,
    add_special_tokens,
    highlight,
    highlight_question,
    highlight_questions,
    special_tokens,
)

TEXT = "In 1875 Bell of Boston spoke."
DATE, BELL, BOSTON = Entity("1875", "DATE", 3, 7), Entity("Bell", "PERSON", 8, 12), Entity("Boston", "GPE", 16, 22)
ENTITIES = (DATE, BELL, BOSTON)


class TableTagger:
    """Knows the entities of a few texts."""

    name, version = "table", "1"

    def __init__(self, table: dict[str, tuple[Entity, ...]]) -> None:
        self.table = table
        self.calls: list[list[str]] = []

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        self.calls.append([])
        for text in texts:
            self.calls[-1].append(text)
            yield self.table.get(text, ())


@pytest.mark.parametrize(
    ("coarse_type", "way", "expected"),
    [
        ("HUM", "replace", "In 1875 SPECIAL_TOKEN of Boston spoke."),
        ("LOC", "replace", "In 1875 Bell of SPECIAL_TOKEN spoke."),
        ("NUM", "replace", "In SPECIAL_TOKEN Bell of Boston spoke."),
        ("ENTY", "replace", TEXT),
        ("ABBR", "replace", TEXT),
        ("DESC", "mark", TEXT),
        ("HUM", "replace-typed", "In 1875 PERSON_TOKEN of Boston spoke."),
        ("NUM", "replace-typed", "In DATE_TOKEN Bell of Boston spoke."),
        ("LOC", "mark", "In 1875 Bell of [ENTITY] Boston [/ENTITY] spoke."),
    ],
)
def test_only_the_expected_type_is_highlighted(coarse_type: str, way: str, expected: str) -> None:
    found = highlight(TEXT, ENTITIES, coarse_type, way)
    assert (found.text, found.original, found.undo()) == (expected, TEXT, TEXT)


def test_typed_tokens_name_each_entity_s_own_label() -> None:
    text = "Bell of AT&T"
    entities = [Entity("Bell", "PERSON", 0, 4), Entity("AT&T", "ORG", 8, 12)]
    assert highlight(text, entities, "HUM", "replace-typed").text == "PERSON_TOKEN of ORG_TOKEN"


def test_paper_example_holds_with_spacy(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("spacy")
    sentence = "The first telephone was invented by Alexander Graham Bell."
    tagger = load_tagger(cache_folder=tmp_path_factory.mktemp("cache"))
    question = Question("1", "Who is the telephone inventor?", (Candidate("a", sentence, 1),))
    (candidate,) = highlight_question(question, "HUM", tagger).candidates
    assert candidate.text == "The first telephone was invented by SPECIAL_TOKEN."
    assert candidate.metadata["original"] == sentence


@pytest.mark.parametrize(
    ("way", "span", "own_words"),
    [
        ("replace", (8, 21), "Bell"),
        ("replace", (10, 12), "Bell"),
        ("replace", (0, 8), "In 1875 "),
        ("replace", (21, 31), " of Boston"),
        ("replace", (5, 24), "75 Bell of"),
        ("mark", (8, 31), "Bell"),
        ("mark", (17, 21), "Bell"),
        ("mark", (9, 12), ""),
        ("mark", (31, 41), " of Boston"),
    ],
)
def test_spans_lead_back_to_the_user_s_own_words(way: str, span: tuple[int, int], own_words: str) -> None:
    found = highlight(TEXT, ENTITIES, "HUM", way)
    start, end = found.to_original(*span)
    assert TEXT[start:end] == own_words


@pytest.mark.parametrize("span", [(-1, 2), (3, 2), (0, 99)])
def test_spans_outside_of_the_text_are_refused(span: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="expected a span within 0 to 38"):
        highlight(TEXT, ENTITIES, "HUM").to_original(*span)


@st.composite
def tagged_texts(draw: st.DrawFn) -> tuple[str, list[Entity]]:
    tokens = st.sampled_from([token for way in Way for token in special_tokens(way)])
    text = "".join(draw(st.lists(st.text(max_size=6) | tokens, max_size=8)))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    labels = st.sampled_from([*ALL_LABELS, "DISEASE"])
    spans = list(pairwise(cuts))
    return text, [Entity(text[start:end], draw(labels), start, end) for start, end in spans if draw(st.booleans())]


@given(tagged=tagged_texts(), coarse_type=st.sampled_from(list(ENTITY_LABELS)), way=st.sampled_from(Way))
def test_undo_gives_the_original(tagged: tuple[str, list[Entity]], coarse_type: str, way: Way) -> None:
    text, entities = tagged
    found = highlight(text, entities, coarse_type, way)
    assert found.undo() == found.original == text


@given(tagged=tagged_texts(), way=st.sampled_from(Way), data=st.data())
def test_offset_map_is_ordered_and_keeps_untouched_text(
    tagged: tuple[str, list[Entity]], way: Way, data: st.DataObject
) -> None:
    text, entities = tagged
    found = highlight(text, entities, "HUM", way)
    places = [found.to_original(place, len(found.text))[0] for place in range(len(found.text) + 1)]
    assert places == sorted(places)
    assert found.to_original(0, len(found.text)) == (0, len(text))
    start = data.draw(st.integers(0, len(found.text)))
    end = data.draw(st.integers(start, len(found.text)))
    if all(edit.new_end <= start or end <= edit.new_start for edit in found.edits):
        first, last = found.to_original(start, end)
        assert text[first:last] == found.text[start:end]


@given(tagged=tagged_texts(), way=st.sampled_from([Way.REPLACE, Way.MARK]))
def test_no_text_can_pass_for_highlighted(tagged: tuple[str, list[Entity]], way: Way) -> None:
    text, entities = tagged
    found = highlight(text, entities, "NUM", way)
    expected = sum(entity.label in ENTITY_LABELS["NUM"] for entity in entities)
    assert [found.text.count(token) for token in special_tokens(way)] == [expected] * len(special_tokens(way))


def test_spelled_out_token_is_lowered_and_restored() -> None:
    text = "I am SPECIAL_TOKEN, says Bell."
    found = highlight(text, [Entity("Bell", "PERSON", 25, 29)], "HUM")
    assert found.text == "I am special_token, says SPECIAL_TOKEN."
    assert found.undo() == text


def test_overlapping_entities_count_once() -> None:
    entities = [Entity("Graham Bell", "ORG", 10, 21), Entity("Alexander Graham", "PERSON", 0, 16)]
    assert highlight("Alexander Graham Bell", entities, "HUM").text == "SPECIAL_TOKEN Bell"


@pytest.mark.parametrize(
    "entity", [Entity("Ball", "PERSON", 8, 12), Entity("Bell", "PERSON", 80, 84), Entity("", "PERSON", 3, 3)]
)
def test_entities_of_another_text_are_refused(entity: Entity) -> None:
    with pytest.raises(UsageError, match="expected entities of this text"):
        highlight(TEXT, [entity], "HUM")


def test_unknown_way_and_type_are_named() -> None:
    with pytest.raises(UsageError, match="replace, replace-typed, mark, got 'blink'"):
        highlight(TEXT, ENTITIES, "HUM", "blink")
    with pytest.raises(UsageError, match="got 'WHO'"):
        highlight(TEXT, ENTITIES, "WHO")


def test_text_without_entities_stays_the_same() -> None:
    assert highlight("", (), "HUM") == Highlighted("", "")


def questions() -> list[tuple[Question, str]]:
    candidates = (Candidate("a", TEXT, 1, {"pos": "x"}), Candidate("b", "It rings.", 0))
    who, why = Question("1", "Who?", candidates, {"category": "c"}), Question("2", "Why?", candidates)
    return [(who, "HUM"), (why, "DESC"), (Question("3", "Where?", candidates), "LOC")]


def test_questions_are_tagged_in_one_pass_and_typed() -> None:
    tagger = TableTagger({TEXT: ENTITIES})
    who, why, where = highlight_questions(questions(), tagger)
    assert [candidate.text for candidate in who.candidates] == ["In 1875 SPECIAL_TOKEN of Boston spoke.", "It rings."]
    assert [candidate.text for candidate in why.candidates] == [TEXT, "It rings."]
    assert where.candidates[0].text == "In 1875 Bell of SPECIAL_TOKEN spoke."
    assert tagger.calls == [[TEXT, "It rings.", TEXT, "It rings."]]  # nothing of the DESC question
    assert who.metadata == {"category": "c", "answer_type": "HUM", "highlight": "replace"}
    assert who.candidates[0] == Candidate("a", who.candidates[0].text, 1, {"pos": "x", "original": TEXT})


@pytest.mark.parametrize("bad", [None, b"Bell"])
@pytest.mark.parametrize("coarse_type", ["HUM", "DESC"])
def test_what_is_not_text_is_named(coarse_type: str, bad: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected what to highlight as text, got"):
        highlight(bad, [], coarse_type)
    question = Question("7", "Who?", (Candidate("a", "Bell"), Candidate("b", bad)))
    with pytest.raises(UsageError, match=r"^expected candidate b of question 7 as text, got"):
        highlight_question(question, coarse_type, TableTagger({}))


def test_highlighting_twice_is_refused() -> None:
    tagger: EntityTagger = TableTagger({})
    once = highlight_question(questions()[0][0], "HUM", tagger, "mark")
    with pytest.raises(UsageError, match=r"question 1 is highlighted already \(mark\)"):
        highlight_question(once, "HUM", tagger)


def word_piece_tokenizer() -> Any:
    """A lower-casing WordPiece tokenizer like BERT's, with single letters so that every word can be spelled."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "in", "of", *letters, *(f"##{c}" for c in letters), *"0123456789._[]/"]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


@pytest.mark.parametrize("way", Way)
def test_special_tokens_are_single_pieces(way: Way) -> None:
    tokenizer = word_piece_tokenizer()
    before = len(tokenizer)
    assert add_special_tokens(tokenizer, way) == len(special_tokens(way))
    assert len(tokenizer) == before + len(special_tokens(way))
    for token in special_tokens(way):
        (number,) = tokenizer(f"{token}", add_special_tokens=False)["input_ids"]
        assert number >= before
    assert add_special_tokens(tokenizer, way) == 0


def test_highlighted_text_is_tokenized_with_the_token_whole() -> None:
    tokenizer = word_piece_tokenizer()
    add_special_tokens(tokenizer, "replace")
    text = highlight("in Bell.", [Entity("Bell", "PERSON", 3, 7)], "HUM").text
    assert tokenizer.tokenize(text) == ["in", "SPECIAL_TOKEN", "."]


def test_spelled_out_token_of_a_text_is_not_the_special_one() -> None:
    tokenizer = word_piece_tokenizer()
    add_special_tokens(tokenizer, "mark")
    text = highlight("[ENTITY] of", (), "HUM", "mark").text
    assert not set(tokenizer.tokenize(text)) & set(special_tokens("mark"))


def test_saved_tokenizer_keeps_the_tokens(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tokenizers import Tokenizer

    tokenizer = word_piece_tokenizer()
    add_special_tokens(tokenizer, "replace-typed")
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save_pretrained(folder)
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert plain.encode("in WORK_OF_ART_TOKEN.").tokens == ["in", "WORK_OF_ART_TOKEN", "."]
