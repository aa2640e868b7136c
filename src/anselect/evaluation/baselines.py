"""Questions in, scores out: six ways to rank that learn nothing. A result says little until it stands beside them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from anselect.errors import MissingExtraError
from anselect.evaluation.lexical import score_groups, split_words
from anselect.records import Question

Baseline = Callable[[Sequence[Question]], list[list[float]]]
"""Gives each candidate of each question a score; equal scores are left as ties."""


class BaselineScores(dict[str, list[list[float]]]):
    """The scores of each baseline, aligned with the questions and their candidates, by name.

    `skipped` tells which baselines are not among them, and why.
    """

    def __init__(self) -> None:
        super().__init__()
        self.skipped: dict[str, str] = {}


def baseline_scores(questions: Sequence[Question]) -> BaselineScores:
    """Score all candidates with every baseline; one whose library is not installed stands in `skipped` instead.

    The candidates of all the given questions are the collection that IDF overlap and BM25 count words in, so give
    the whole file, not only the questions that a protocol counts.
    """
    found = BaselineScores()
    for name, score in BASELINES.items():
        try:
            found[name] = score(questions)
        except MissingExtraError as error:
            found.skipped[name] = str(error)
    return found


def score_constant(questions: Sequence[Question]) -> list[list[float]]:
    """Tie all candidates: what chance gives."""
    return [[0.0] * len(question.candidates) for question in questions]


def score_file_order(questions: Sequence[Question]) -> list[list[float]]:
    """Put the candidates in the order of the file: the first sentence in WikiQA, a look at the labels in TrecQA."""
    return [[-float(place) for place in range(len(question.candidates))] for question in questions]


def score_shortest(questions: Sequence[Question]) -> list[list[float]]:
    """Put the candidate with the fewest words first."""
    return [[-length for length in lengths] for lengths in score_longest(questions)]


def score_longest(questions: Sequence[Question]) -> list[list[float]]:
    """Put the candidate with the most words first."""
    return [[float(len(words)) for words in group] for group in map(_split_candidates, questions)]


def score_idf_overlap(questions: Sequence[Question]) -> list[list[float]]:
    """Add up the IDF of the distinct words of the question that stand in the candidate.

    IDF is ln(N / n): N candidates in the whole file, n of them with the word. A word in all of them counts nothing.
    """
    asked = [split_words(question.text) for question in questions]
    known = frozenset(word for words in asked for word in words)
    shared = [[known.intersection(words) for words in group] for group in map(_split_candidates, questions)]
    counts = Counter(word for group in shared for words in group for word in words)
    total = sum(map(len, shared))
    scores = []
    for question_words, group in zip(asked, shared, strict=True):
        weights = {word: math.log(total / counts[word]) for word in question_words if counts[word]}
        scores.append([math.fsum(weight for word, weight in weights.items() if word in words) for words in group])
    return scores


def score_bm25(questions: Sequence[Question]) -> list[list[float]]:
    """Score by BM25 with all candidates of the file as the collection; raise MissingExtraError without bm25s."""
    asked = [split_words(question.text) for question in questions]
    return score_groups(asked, [_split_candidates(question) for question in questions])


def _split_candidates(question: Question) -> list[list[str]]:
    return [split_words(candidate.text) for candidate in question.candidates]


BASELINES: dict[str, Baseline] = {
    "constant": score_constant,
    "file order": score_file_order,
    "shortest": score_shortest,
    "longest": score_longest,
    "IDF overlap": score_idf_overlap,
    "BM25": score_bm25,
}
