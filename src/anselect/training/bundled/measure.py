"""A way to score questions in, its figures on several sets out: on dev sets to choose by, on test sets to report."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anselect.data.protocols import PROTOCOLS, default_protocol
from anselect.data.reading import read_questions
from anselect.engine.ranker import EngineRanker
from anselect.evaluation.evaluate import Evaluation, evaluate_scores
from anselect.modeling.rankers import TrainedRanker
from anselect.records import Question
from anselect.training.bundled.data import Build, write_dev
from anselect.training.bundled.mixture import with_fewer_wrong

HARD_FILES: Final = {"hard": "hard_questions.jsonl", "plain-hard": "plain_hard_questions.jsonl"}
"""Hand-written questions whose wrong candidates share more words with them than the right ones."""
TEST_SETS: Final = (
    ("wikiqa", "test"),
    ("trecqa", "test"),
    ("semeval2015", "test"),
    ("semeval2016", "test"),
    ("semeval2017", "test"),
)
INSURANCE_QUESTIONS: Final = 150
INSURANCE_WRONG: Final = 19
"""InsuranceQA has hundreds of wrong answers a question: so many of them, drawn at random, are enough to compare on."""

Score = Callable[[Sequence[Question]], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class NamedSet:
    """Questions, and how a ranking of them is measured."""

    name: str
    questions: Sequence[Question]
    protocol: str = "answerable"
    measure: str = "MAP"


def dev_sets(build: Build) -> list[NamedSet]:
    """Return the dev parts that the model is chosen by, set by set, and our own hard questions' dev halves."""
    questions = list(read_questions(write_dev(build)))
    sources = {source.data for source in build.mixture.dev if not build.is_left_out(source)}
    sets = [
        NamedSet(name, [question for question in questions if question.id.startswith(f"{name}-")])
        for name in sorted(sources)
    ]
    return sets + hard_sets("dev")


def held_out_sets(build: Build) -> list[NamedSet]:
    """Return the test parts, each under its usual protocol, and the other halves of our hard questions.

    TrecQA comes as text and as the tokens of its files.
    """
    sets = [NamedSet(name, build.read(name, split), default_protocol(name).name) for name, split in TEST_SETS]
    sets.append(NamedSet("trecqa (tokens)", build.read("trecqa", "test", detokenize=False), "clean"))
    sets.append(NamedSet("insuranceqa", _insurance_questions(build)))
    return sets + hard_sets("check")


def measure_sets(sets: Sequence[NamedSet], score: Score) -> dict[str, float]:
    """Return each set's figure by its name."""
    return {each.name: measure_set(each, score) for each in sets}


def measure_set(each: NamedSet, score: Score) -> float:
    """Return one set's figure; ties count as a draw of lots."""
    return evaluate_set(each, score).measures[each.measure].value


def evaluate_set(each: NamedSet, score: Score) -> Evaluation:
    """Evaluate a way to score on one set, under its protocol."""
    return evaluate_scores(
        each.questions, score(each.questions), protocol=PROTOCOLS[each.protocol], measures=[each.measure]
    )


def scorer(ranker: TrainedRanker | EngineRanker) -> Score:
    """Return how a ranker scores."""
    return lambda questions: ranker.score(questions).scores


def mean_figure(figures: Mapping[str, float]) -> float:
    """Return the mean over sets: no set counts more for having more questions."""
    return sum(figures.values()) / len(figures)


def hard_sets(half: str) -> list[NamedSet]:
    """Return one half, `dev` or `check`, of each of our files of hard questions; the first place is what counts."""
    known = {name: read_questions(Path(__file__).parent / file) for name, file in HARD_FILES.items()}
    return [
        NamedSet(name, [question for question in questions if question.metadata["half"] == half], measure="P@1")
        for name, questions in known.items()
    ]


def _insurance_questions(build: Build) -> list[Question]:
    chance = random.Random(0)
    drawn = chance.sample(build.read("insuranceqa", "test"), INSURANCE_QUESTIONS)
    return [with_fewer_wrong(question, INSURANCE_WRONG, chance) for question in drawn]
