"""What the ranking benchmark scores: benchmark questions with their labels, and a text of our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from anselect.data.protocols import Protocol, default_protocol
from anselect.evaluation.evaluate import evaluate_scores
from anselect.evaluation.judgements import Judgements
from anselect.evaluation.labelled_data import read_labelled_questions
from anselect.records import Candidate, Question, ScoredQuestions

DATA_SETS = {"wikiqa": "WikiQA test", "trecqa": "TrecQA clean test"}
CANDIDATES = 20
WORDS_PER_CANDIDATE = 40
# Words that are one token each in the vocabularies of the BERT family.
TEXT = """the old bridge over the river was built by a young engineer from the north who had never seen the sea before
and when the first train crossed it in the winter of that year the people of both towns came out with lamps and music
although the wind was cold and the water below was high because of the heavy rain that had fallen on the hills all week
so nobody noticed that the man himself stood alone near the station and counted every car until the last one was gone"""


@dataclass(frozen=True, slots=True)
class Case:
    """Questions that every side scores in one call."""

    name: str
    questions: tuple[Question, ...]
    protocol: Protocol | None = None
    """None for texts without labels."""

    @property
    def pairs(self) -> int:
        """How many candidates there are."""
        return sum(len(question.candidates) for question in self.questions)

    def mean_average_precision(self, scores: Sequence[float]) -> float | None:
        """Return MAP of flat scores under the case's protocol, ties at their expected value."""
        if self.protocol is None:
            return None
        dealt = ScoredQuestions.from_flat(self.questions, scores).scores
        return evaluate_scores(self.questions, dealt, protocol=self.protocol).measures["MAP"].value


def read_cases(*, pairs: int | None = None, data_dir: Path | None = None) -> list[Case]:
    """Read the questions that count in each data set; whole questions up to so many pairs, all without a limit."""
    return [_read_case(data, title, pairs, data_dir) for data, title in DATA_SETS.items()]


def _read_case(data: str, title: str, pairs: int | None, data_dir: Path | None) -> Case:
    protocol = default_protocol(data)
    questions = read_labelled_questions(data, "test", data_dir=data_dir).questions
    counted = compress(questions, Judgements.from_questions(questions).counted(protocol.counting))
    return Case(title, tuple(_first(counted, pairs)), protocol)


def single_questions(case: Case, *, limit: int) -> Case:
    """Return questions that have 20 candidates or more, with their first 20: what one request looks like."""
    found = [
        Question(question.id, question.text, question.candidates[:CANDIDATES])
        for question in case.questions
        if len(question.candidates) >= CANDIDATES
    ]
    return Case(f"{case.name}, one question with {CANDIDATES} candidates", tuple(found[:limit]))


def own_question() -> Case:
    """Return one question with 20 different candidates of 40 words each."""
    words = TEXT.split()
    texts = (" ".join((words * 2)[start : start + WORDS_PER_CANDIDATE]) for start in range(0, 3 * CANDIDATES, 3))
    candidates = tuple(Candidate(str(place), text) for place, text in enumerate(texts))
    question = Question("own", "who built the old bridge over the river?", candidates)
    return Case(f"one question, {CANDIDATES} candidates × {WORDS_PER_CANDIDATE} tokens", (question,))


def _first(questions: Iterable[Question], pairs: int | None) -> Iterator[Question]:
    taken = 0
    for question in questions:
        if pairs is not None and taken >= pairs:
            return
        taken += len(question.candidates)
        yield question
