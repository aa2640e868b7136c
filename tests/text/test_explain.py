from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from anselect.errors import UsageError
from anselect.records import Entity, Ranking, ScoredCandidate
from anselect.text.explain import add_evidence, add_ranking, explain, replace_read_texts
from anselect.text.explain_evidence import CandidateEvidence, Method


@dataclass(frozen=True)
class Type:
    coarse: str = "HUM"
    fine: str = "HUM:ind"
    confidence: float = 0.9


class BellTagger:
    """Finds Bell as a person, 1876 as a date and measles as something that the paper's table does not have."""

    name, version = "bell", "1"

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        words = {"Bell": "PERSON", "1876": "DATE", "measles": "DISEASE"}
        for text in texts:
            found = [(text.index(word), word, label) for word, label in words.items() if word in text]
            yield tuple(Entity(word, label, start, start + len(word)) for start, word, label in sorted(found))


def explain_as_dict(
    question: str, candidates: list[str], way: str = "replace", coarse: str = "HUM"
) -> dict[str, object]:
    return explain(question, candidates, tagger=BellTagger(), detector=lambda _: Type(coarse), way=way).as_dict()


def test_explanation_has_exactly_the_public_names_and_values() -> None:
    found = explain_as_dict("Who invented it?", ["Bell did, in 1876."])
    assert found == {
        "question": "Who invented it?",
        "answer_type": "HUM",
        "answer_type_fine": "HUM:ind",
        "confidence": 0.9,
        "candidates": (
            {
                "text": "Bell did, in 1876.",
                "highlighted": "SPECIAL_TOKEN did, in 1876.",
                "entities": (
                    {"text": "Bell", "label": "PERSON", "answer_type": "HUM", "start": 0, "end": 4, "matches": True},
                    {"text": "1876", "label": "DATE", "answer_type": "NUM", "start": 13, "end": 17, "matches": False},
                ),
            },
        ),
    }
    assert json.loads(json.dumps(found))["candidates"][0]["entities"][0]["matches"] is True


def test_evidence_explains_the_best_two_in_the_order_of_their_logits() -> None:
    found = explain("Who?", ["a", "b", "c"], tagger=BellTagger(), detector=lambda _: Type())
    evidence = [
        CandidateEvidence(text, Method.OCCLUSION, logit, 0.0, ())
        for text, logit in zip("abc", (0.1, 2.0, 1.0), strict=True)
    ]
    explained = add_evidence(found, evidence)
    assert [candidate.evidence for candidate in explained.candidates] == evidence
    assert explained.comparison is not None
    assert (explained.comparison.first, explained.comparison.second) == (1, 2)
    one = explain("Who?", ["a"], tagger=BellTagger(), detector=lambda _: Type())
    assert add_evidence(one, evidence[:1]).comparison is None
    assert [each.highlighted for each in replace_read_texts(found, ["x", "y", "z"]).candidates] == ["x", "y", "z"]


def test_way_changes_only_what_the_model_reads() -> None:
    found = explain("Who?", ["Bell did."], tagger=BellTagger(), detector=lambda _: Type(), way="mark")
    assert found.candidates[0].highlighted == "[ENTITY] Bell [/ENTITY] did."
    assert found.candidates[0].text == "Bell did."


def test_description_questions_match_nothing_but_show_entities() -> None:
    found = explain("Why?", ["Bell did."], tagger=BellTagger(), detector=lambda _: Type("DESC", "DESC:reason"))
    (candidate,) = found.candidates
    assert candidate.highlighted == "Bell did."
    assert [(entity.text, entity.matches) for entity in candidate.entities] == [("Bell", False)]


def test_labels_outside_of_the_table_have_no_answer_type() -> None:
    found = explain("What?", ["He had measles."], tagger=BellTagger(), detector=lambda _: Type("ENTY"))
    assert [(entity.label, entity.answer_type, entity.matches) for entity in found.candidates[0].entities] == [
        ("DISEASE", None, False)
    ]
    assert found.as_dict()["candidates"][0]["entities"][0]["answer_type"] is None


def test_without_candidates_no_tagger_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anselect.text.explain.load_tagger", lambda: pytest.fail("a tagger was loaded"))
    assert explain("Who?", [], detector=lambda _: Type()).candidates == ()


@pytest.mark.parametrize("question", ["", "  \n"])
def test_empty_question_is_refused(question: str) -> None:
    with pytest.raises(UsageError, match="expected a question, got an empty text"):
        explain(question, [], detector=lambda _: Type())


@pytest.mark.parametrize(
    "question", ["?!", "😀", "من اخترع الهاتف؟", "who " * 25_000], ids=["signs", "emoji", "rtl", "long"]
)
def test_odd_questions_are_answered(question: str) -> None:
    assert explain(question, ["Bell"], tagger=BellTagger(), detector=lambda _: Type()).question == question


@pytest.mark.parametrize(
    "candidate", ["", "?", "😀 Bell 📞", "هاتف Bell", "x" * 100_000], ids=["empty", "sign", "emoji", "rtl", "long"]
)
def test_odd_candidates_keep_offsets_true(candidate: str) -> None:
    (found,) = explain("Who?", [candidate], tagger=BellTagger(), detector=lambda _: Type()).candidates
    assert all(candidate[entity.start : entity.end] == entity.text for entity in found.entities)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (None, "expected a list of candidates, got NoneType"),
        ("Bell did.", "expected a list of candidates, got str"),
        (b"Bell did.", "expected a list of candidates, got bytes"),
        (["Bell", None], "expected candidate 1 as text, got NoneType"),
        ([b"Bell"], "expected candidate 0 as text, got bytes: decode them first"),
        (["Bell \udcff"], r"expected candidate 0 as valid Unicode, got '\\udcff' at 5"),
    ],
)
def test_bad_candidates_are_named(candidates: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        explain("Who?", candidates, tagger=BellTagger(), detector=lambda _: Type())


@pytest.mark.parametrize("question", [None, b"Who?", 3])
def test_question_that_is_not_text_is_refused(question: str) -> None:
    with pytest.raises(UsageError, match="expected the question as text, got"):
        explain(question, [], detector=lambda _: Type())


def test_unknown_way_is_refused_before_any_work() -> None:
    with pytest.raises(UsageError, match="got 'blink'"):
        explain("Who?", ["Bell"], way="blink", detector=lambda _: pytest.fail("the type was detected"))


def test_ranking_stands_beside_the_candidates_in_their_own_order() -> None:
    found = explain("Who?", ["It rings.", "Bell did."], tagger=BellTagger(), detector=lambda _: Type())
    ranking = Ranking("Who?", (ScoredCandidate(1, "Bell did.", 0.9), ScoredCandidate(0, "It rings.", 0.2)))
    scored = add_ranking(found, ranking, model="a model")
    assert [(each.text, each.score, each.rank) for each in scored.candidates] == [
        ("It rings.", 0.2, 2),
        ("Bell did.", 0.9, 1),
    ]
    assert scored.model == "a model"
    assert scored.candidates[1].entities == found.candidates[1].entities


def test_ranking_of_other_candidates_is_refused() -> None:
    found = explain("Who?", ["It rings.", "Bell did."], tagger=BellTagger(), detector=lambda _: Type())
    with pytest.raises(UsageError, match="expected a ranking of all 2 candidates, got 1"):
        add_ranking(found, Ranking("Who?", (ScoredCandidate(0, "It rings.", 0.2),)), model="a model")
