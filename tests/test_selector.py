from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import anselect
from anselect.errors import AnselectError, MissingFileError, UsageError
from anselect.records import Candidate, Question, Ranking, ScoredCandidate, ScoredQuestions
from anselect.selector import AnswerSelector
from anselect.text.steps import TextSteps


class LengthRanker:
    description = "longest first"
    steps = TextSteps()

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        return ScoredQuestions([[len(found.text) / 100 for found in question.candidates] for question in questions])


class BrokenRanker(LengthRanker):
    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        return ScoredQuestions([[float("nan") for _ in question.candidates] for question in questions])


@pytest.fixture
def selector() -> AnswerSelector:
    return AnswerSelector(LengthRanker())


def test_rank_orders_best_first_and_keeps_the_callers_list(selector: AnswerSelector) -> None:
    candidates = ["bb", "dddd", "a"]
    ranking = selector.rank("q?", candidates)
    assert [(place.index, place.text, place.score) for place in ranking] == [
        (1, "dddd", 0.04),
        (0, "bb", 0.02),
        (2, "a", 0.01),
    ]
    assert candidates == ["bb", "dddd", "a"]
    assert ranking[:2] == ranking.candidates[:2]
    assert type(ranking[0].score) is float


def test_rank_keeps_the_callers_order_for_equal_scores(selector: AnswerSelector) -> None:
    assert [place.index for place in selector.rank("q?", ["aa", "b", "cc", "d"])] == [0, 2, 1, 3]


@pytest.mark.parametrize(("top_k", "expected"), [(None, 3), (0, 0), (2, 2), (9, 3)])
def test_rank_returns_at_most_top_k(selector: AnswerSelector, top_k: int | None, expected: int) -> None:
    assert len(selector.rank("q?", ["a", "b", "c"], top_k=top_k)) == expected


def test_rank_of_no_candidates_is_empty(selector: AnswerSelector) -> None:
    assert list(selector.rank("q?", [])) == []


def test_rank_many_takes_records_and_pairs_lazily(selector: AnswerSelector) -> None:
    question = Question("q1", "who?", (Candidate("c1", "a"), Candidate("c2", "bb")))
    asked = []

    def stream() -> Any:
        for item in (question, ("what?", ["x"])):
            asked.append(item)
            yield item

    rankings = selector.rank_many(stream())
    assert [place.id for place in next(rankings)] == ["c2", "c1"]
    assert len(asked) == 1
    assert next(rankings)[0].id is None


@pytest.mark.parametrize(
    ("question", "candidates", "top_k", "message"),
    [
        ("  ", ["a"], None, "expected a question, got blank text"),
        (None, ["a"], None, "expected the question as text, got NoneType"),
        ("q?", "a", None, "^expected a list of candidates, got str: put it into a list$"),
        ("q?", b"a", None, "^expected a list of candidates, got bytes$"),
        ("q?", None, None, "^expected a list of candidates, got NoneType$"),
        ("q?", ["a", b"b"], None, "^expected candidate 1 as text, got bytes: decode them first$"),
        ("q?", ["a"], -1, "expected top_k of 0 or more, got -1"),
    ],
)
def test_rank_refuses_bad_input(
    selector: AnswerSelector, question: Any, candidates: Any, top_k: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        selector.rank(question, candidates, top_k=top_k)


@pytest.mark.parametrize("asked", ["Who?", None, ("Who?",), 7])
def test_rank_many_refuses_what_is_no_pair(selector: AnswerSelector, asked: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected \(question, candidates\), got \w+: [^\n]+$"):
        list(selector.rank_many([asked]))


def test_record_with_a_candidate_that_is_no_text_is_refused(selector: AnswerSelector) -> None:
    broken: Any = None
    with pytest.raises(UsageError, match=r"^expected candidate 1 as text, got NoneType$"):
        list(selector.rank_many([Question("7", "q?", (Candidate("0", "a"), Candidate("1", broken)))]))


def test_rank_refuses_a_score_that_is_no_number() -> None:
    with pytest.raises(AnselectError, match="expected a finite score, got nan for candidate"):
        AnswerSelector(BrokenRanker()).rank("q?", ["a"])


def test_load_without_a_name_gives_the_bundled_model() -> None:
    assert "bundled model" in anselect.load().description
    assert anselect.load("bundled").description == anselect.load().description


def test_load_of_an_unknown_model_names_it() -> None:
    with pytest.raises(MissingFileError, match="runs/none"):
        anselect.load("runs/none")


ODD = ["", "\0\ud800", "🙂" * 50, "[SEP] [CLS] [MASK]", "Bobby Vinton sang Blue Velvet"]
STUFFED = "blue velvet sang who " * 400


def test_bundled_model_ranks_odd_texts_too() -> None:
    ranking = anselect.load().rank("who sang blue velvet", ODD)
    assert ranking[0].text == "Bobby Vinton sang Blue Velvet"
    assert all(0 < place.score < 1 for place in ranking)
    assert ranking.cut_candidates == 0
    ranking = anselect.load().rank("who sang blue velvet", [*ODD, STUFFED])
    assert all(0 < place.score < 1 for place in ranking)
    assert ranking.cut_candidates == 1


def test_a_text_stuffed_with_the_question_s_words_does_not_stand_first() -> None:
    assert anselect.load().rank("who sang blue velvet", [*ODD, STUFFED])[0].text != STUFFED


def test_long_candidates_can_be_read_in_windows() -> None:
    late = "The song is old and many have heard it. " * 60 + "Bobby Vinton sang Blue Velvet in 1963."
    question = "Who sang Blue Velvet?"
    cut, whole = (anselect.load(long=long).rank(question, [late]) for long in ("cut", "windows"))
    assert whole[0].score > cut[0].score
    assert (cut.cut_candidates, whole.cut_candidates) == (1, 0)


def test_options_of_the_engine_are_refused_for_other_models(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="windows and caches are for exported models"):
        anselect.load(tmp_path, long="windows")


def test_scores_are_kept_in_a_cache(tmp_path: Path) -> None:
    texts = ["Bell did.", "It rings."]
    first, again = (anselect.load(cache=tmp_path).rank("Who invented it?", texts) for _ in range(2))
    assert [place.score for place in first] == [place.score for place in again]
    assert any(tmp_path.iterdir())


def test_best_candidate_or_none_of_them() -> None:
    ranking = Ranking("Who?", (ScoredCandidate(1, "Bell.", 0.6), ScoredCandidate(0, "It rings.", 0.2)))
    found = ranking.best(min_score=0.6)
    assert found is not None
    assert found.text == "Bell."
    assert ranking.best(min_score=0.61) is None
    assert Ranking("Who?", ()).best() is None
