from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.files import read_lines
from anselect.data.sentences import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


# Sentences are told apart by `|`, which stands for one blank.
CASES = {
    "plain": "Bell rang.|It was loud.",
    "title": "Mr. Bell met Dr. Watson and Mrs. Hall.|They spoke.",
    "country": "He moved to the U.S. Congress building.|It was old.",
    "country_last": "He left the U.S.|The crowd cheered.",
    "for_example": "Some tools, e.g. Hammers, i.e. Heavy ones, sell.|Others do not.",
    "number": "It is in No. 5 on p. 12 of vol. II today.|No. 6 is shut.",
    "no": "She said no.|Then she left.",
    "saint": "We saw St. James and Mt. Everest.|It was cold.",
    "street": "He lives on Main St.|The house is red.",
    "initials": "J. K. Rowling and George W. Bush met.|They talked.",
    "initial_alone": "Paper by A. Campbell.|It is short.",
    "letter": "Take vitamin C.|It helps.",
    "war": "He died in World War I.|The war went on.",
    "month": "On Jan. 5 and Sept. Third it rained.|On Dec. 6 it snowed.",
    "company": "Apple Inc. Chairman Jobs met Bell Ltd. Officials.|He left Bros. Inc.|The firm fell.",
    "versus": "In Kansas v. Hendricks and Rome vs. Carthage it was so.|It is no more.",
    "degree": "She has a Ph.D. Her own house.",
    "decimal": "It costs 3.50 dollars or $.5 now.|It is 1.000,00 there.",
    "ellipsis_in": "Well... it works, and … it lasts.",
    "ellipsis_end": "So it goes...|Nobody knows why…|We do.",
    "quote": '"It rang."|He said "Stop!" and left.|"Why?" she asked.',
    "curly": "“It rang.”|She left (at once.)|He stayed.",
    "german": "„Es klingelt.“|Er kam am 3. Mai.|«Il pleut.»|Elle part.",
    "brackets": "It rang (loudly!) twice.|(He left.)|[It ended.]|So did we.",
    "marks": "Really?!|Yes!!|What a day!|20 people came.",
    "name_with_mark": "Yahoo! is a firm.|It grew.",
    "evening": "It opens at 5 p.m. The doors shut at 9 a.m. Eastern time.",
    "evening_border": "It began at 5 p.m.|Police came.",
    "address": "See www.Example.com or http://a.b/C.html?x=1.Y for more.|Mail a.b@c.org now.",
    "file": "Run setup.py and Node.js there.|It works.",
    "footnote": "It is old.[1]|It is large.[2][13]|It stands.",
    "tokenised": 'Bell rang .|It was , he said , loud .|" Yes . "|He left .',
    "lower_case": "i like it.|it works well.|the box was big.",
    "unknown_abbreviation": "The pop. of the town fell.|It rose.",
    "camel": "It ran well.|iOS was new.",
    "enumerator": "1. Bell rang.|2. He left.",
    "smiley": "Great. :)|I love it.",
    "chinese": "他来了。",
    "spanish": "¿Qué hora es?|¡Mira!|Son las dos.",
    "year": "It was 1999.|The year ended in 99.|In 2000 it began.",
}
# Some of these hold a `.` that a capital follows and that may or may not end the sentence; the one taken is documented.
CASES["degree"] = "She has a Ph.D.|Her house is old."
CASES["evening"] = "It opens at 5 p.m.|The doors shut at 9 a.m. Eastern time."


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES)
def test_borders(marked: str) -> None:
    assert sentences(marked.replace("|", " ")) == marked.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The end.Start again.", ["The end.", "Start again."]),
        ("It is well-made.Frankly, I like it.", ["It is well-made.", "Frankly, I like it."]),
        ("So it was (in 2009).New rules came.", ["So it was (in 2009).", "New rules came."]),
        ("What?Yes, he did.", ["What?", "Yes, he did."]),
        ("He came。She left。", ["He came。", "She left。"]),
        ("the U.S.A today", ["the U.S.A today"]),
        ("from amazon.Com today", ["from amazon.Com today"]),
        ("call os.Path here", ["call os.", "Path here"]),
    ],
)
def test_missing_blank(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A heading\n\nThe text.", ["A heading", "The text."]),
        ("A heading\nThe text.", ["A heading", "The text."]),
        ("It rang\nand rang.\r\nThen not.", ["It rang\nand rang.", "Then not."]),
        (
            "The first president of the United States was George\nWashington, a farmer.",
            ["The first president of the United States was George\nWashington, a farmer."],
        ),
        (
            "These things are on the list that I wrote down for you:\n- Milk\n- Bread and\n  butter\n* Eggs",
            [
                "These things are on the list that I wrote down for you:",
                "- Milk",
                "- Bread and\n  butter",
                "* Eggs",
            ],
        ),
        ("1) one\n2) two", ["1) one", "2) two"]),
        ("One.\n\n***\n\nTwo.", ["One.", "***", "Two."]),
        ("  ", []),
        ("", []),
        ("\n\nOnly this\n", ["Only this"]),
    ],
)
def test_lines(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["Mr", "a", "Bell", ".", "!", "?", "…", " ", "\n", "\n\n", '"', ")", "(", "[1]", "1", "-", "U.S."]
        )
    ).map("".join),
)


@given(TEXTS)
def test_spans_are_ordered_and_cover_all_but_blanks(text: str) -> None:
    spans = split_sentences(text)
    place = 0
    for start, end in spans:
        assert place <= start < end <= len(text)
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


@given(TEXTS)
def test_splitting_twice_gives_the_same(text: str) -> None:
    assert split_sentences(text) == split_sentences(str(text))


@pytest.mark.parametrize("piece", ["x", ".", "a.", ". ", " ", "\n", '." ', "A. ", "a\n", ". (", "![1]", '." " '])
def test_a_million_characters_without_sense_are_split(piece: str) -> None:
    # Twice the text takes about twice the time: a quadratic splitter would not come to an end here.
    text = piece * (10**6 if len(piece) == 1 else 10**5)
    spans = split_sentences(text)
    assert len(spans) <= 1
    assert sum(end - start for start, end in spans) <= len(text)


def wikiqa_documents(path: Path) -> list[list[str]]:
    """The sentences of each document, in order, without captions and list items: what ends without a mark."""
    documents: dict[str, dict[int, str]] = {}
    for number, line in read_lines(path):
        cells = line.split("\t")
        if number > 1:
            documents.setdefault(cells[2], {})[int(cells[4].rsplit("-")[-1])] = cells[5].strip()
    return [[by_place[place] for place in sorted(by_place)] for by_place in documents.values()]


def test_borders_of_wikiqa_are_recovered(benchmark_data: Path) -> None:
    right = wrong = missed = 0
    for gold in wikiqa_documents(benchmark_data / "original/wikiqa/WikiQA-test.tsv"):
        text = " ".join(gold)
        places, place = set(), 0
        for sentence in gold:
            place += len(sentence)
            places.add(place)
            place += 1
        # A caption runs on into the next sentence once the line break is gone: nothing can tell the border.
        marked = {place for place in places if text[:place].rstrip("\"')]} ")[-1:] in {".", "!", "?"}}
        found = {end for _, end in split_sentences(text)} - {len(text)} - (places - marked)
        marked.discard(len(text))
        right, wrong, missed = right + len(found & marked), wrong + len(found - marked), missed + len(marked - found)
    assert right / (right + wrong) >= 0.995
    assert right / (right + missed) >= 0.99
