"""Texts as a model reads them, with the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from anselect.errors import AnselectError
from anselect.records import Entity
from anselect.text import steps as steps_module
from anselect.text.explain_texts import prepare_texts
from anselect.text.steps import TextSteps

QUESTION, TEXT = "Who invented the telephone?", "It was Bell, in 1876."


class BellTagger:
    name, version = "bell", "1"

    def __init__(self, word: str = "Bell") -> None:
        self.word = word

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        for text in texts:
            start = text.find(self.word)
            yield (Entity(self.word, "PERSON", start, start + len(self.word)),) if start >= 0 else ()


@pytest.fixture(autouse=True)
def bell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "_tagger", lambda _: BellTagger())


def test_plain_texts_stay_as_they_are() -> None:
    question, (candidate,) = prepare_texts(TextSteps(), QUESTION, [TEXT])
    assert (question.text, candidate.text) == (QUESTION, TEXT)
    assert candidate.to_original(7, 11) == (7, 11)


@pytest.mark.parametrize("lower_case", [False, True])
def test_replaced_entity_leads_back_to_the_user_s_words(lower_case: bool) -> None:
    steps = TextSteps("replace", lower_case=lower_case)
    question, (candidate, other) = prepare_texts(steps, QUESTION, [TEXT, "It rings."], tagger=BellTagger())
    it = "it was" if lower_case else "It was"
    assert candidate.text == f"{it} SPECIAL_TOKEN, in 1876."
    start = candidate.text.index("SPECIAL_TOKEN")
    assert candidate.to_original(start, start + 13) == (7, 11)
    assert candidate.original == TEXT
    assert other.text == ("it rings." if lower_case else "It rings.")
    assert question.text == (QUESTION.lower() if lower_case else QUESTION)


def test_other_entities_than_the_model_s_are_not_passed_over() -> None:
    with pytest.raises(AnselectError, match="expected the same entities twice"):
        prepare_texts(TextSteps("replace"), QUESTION, [TEXT], tagger=BellTagger("It"))


def test_description_question_needs_no_tagger() -> None:
    _, (candidate,) = prepare_texts(TextSteps("mark"), "What is a telephone?", [TEXT], tagger=BellTagger("none"))
    assert candidate.text == TEXT
