"""Several runs over the same questions in, their differences out: how large, how sure, and on which questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from anselect.data.files import STDIN
from anselect.data.protocols import Protocol
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.evaluation.baselines import BASELINES
from anselect.evaluation.evaluate import Evaluation, MeasureValue, Scores, evaluate_scores
from anselect.evaluation.run_scores import RunScores, read_run_scores
from anselect.evaluation.significance import EQUAL_WITHIN, RESAMPLES, PairedDifference, adjust_holm, compare_paired
from anselect.records import Question


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """What to compare, and how."""

    measure: str = "MAP"
    baseline: str | None = None
    """The run that every other is compared with; None: each run with each run before it."""
    most_different: int = 5
    """How many questions to show."""
    seed: int = 0
    resamples: int = RESAMPLES


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run by itself."""

    name: str
    measure: MeasureValue
    tied_pairs: int


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One run against another; differences are run minus baseline."""

    run: str
    baseline: str
    difference: PairedDifference
    t_test_holm: float | None
    """p of the t-test, adjusted for all pairs of the comparison."""
    randomisation_holm: float | None


@dataclass(frozen=True, slots=True)
class TopCandidate:
    """What a run puts first; of several with the same top score, the one that the data lists first."""

    id: str
    text: str
    tied: int
    """How many candidates share the top score, this one included."""
    correct: int
    """How many of those are correct."""

    @property
    def is_correct(self) -> bool | None:
        """Whether the run's first candidate is correct; None where a tie leaves it open."""
        return None if 0 < self.correct < self.tied else self.correct > 0


@dataclass(frozen=True, slots=True)
class RunOnQuestion:
    """What one run makes of one question."""

    run: str
    value: float
    answer_rank: float | None
    """Rank of the first correct candidate, the expected one where scores tie; None where there is none."""
    top: TopCandidate


@dataclass(frozen=True, slots=True)
class QuestionContrast:
    """A question for which the runs differ."""

    question_id: str
    question: str
    spread: float
    """Highest value minus lowest value."""
    runs: tuple[RunOnQuestion, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare_scores` finds."""

    settings: ComparisonSettings
    protocol: Protocol
    question_ids: tuple[str, ...]
    """The questions that count, in the order of the data."""
    runs: tuple[ComparedRun, ...]
    pairs: tuple[PairComparison, ...]
    contrasts: tuple[QuestionContrast, ...]
    """The questions that differ most, the largest spread first."""
    values: Mapping[str, tuple[float, ...]]
    """Per run the value of each question, aligned with question_ids."""

    @property
    def resolution(self) -> float:
        """How much the mean moves when a single question goes from 0 to 1."""
        return 1 / len(self.question_ids)


def read_compared_runs(names: Sequence[str], questions: Sequence[Question]) -> dict[str, RunScores]:
    """Read the runs, each named by its file (`-` for stdin) or as one of BASELINES; a file of that name goes first.

    Raises UsageError for the same one twice, MissingFileError for what is neither.
    """
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise UsageError(f"expected different runs, got {doubles[0]} more than once: name each run once")
    return {name: _read_scores(name, questions) for name in names}


def compare_scores(
    questions: Sequence[Question],
    runs: Mapping[str, Scores],
    *,
    protocol: Protocol,
    settings: ComparisonSettings | None = None,
) -> Comparison:
    """Compare the scores of several runs for the same questions.

    Without a baseline each run is compared with each that stands before it. Raises UsageError for a single run and for
    a baseline that is not among the runs, DataError when no question counts, MissingExtraError without scipy.
    """
    settings = settings or ComparisonSettings()
    pairs = _pair_runs(list(runs), settings.baseline)
    found = {
        name: evaluate_scores(questions, scores, protocol=protocol, measures=[settings.measure])
        for name, scores in runs.items()
    }
    question_ids = next(iter(found.values())).question_ids
    if not question_ids:
        raise DataError(
            f"protocol '{protocol.name}' counts none of the {len(questions)} questions: it takes {protocol.counting}"
        )
    values = {name: tuple(evaluation.values[settings.measure].tolist()) for name, evaluation in found.items()}
    return Comparison(
        settings=settings,
        protocol=protocol,
        question_ids=question_ids,
        runs=tuple(ComparedRun(name, each.measures[settings.measure], each.tied_pairs) for name, each in found.items()),
        pairs=_test_pairs(pairs, values, settings),
        contrasts=_find_contrasts(questions, runs, found, settings),
        values=values,
    )


def find_top(question: Question, scores: Sequence[float | None]) -> TopCandidate:
    """Return what stands first by these scores; a candidate without score (None) stands last.

    Example:
    >>> from anselect.records import Candidate
    >>> candidates = Candidate("a", "It.", 0), Candidate("b", "He.", 1), Candidate("c", "They.", 0)
    >>> find_top(Question("q", "Who?", candidates), [0.2, 0.7, 0.7])
    TopCandidate(id='b', text='He.', tied=2, correct=1)
    """
    filled = [-math.inf if score is None else score for score in scores]
    highest = max(filled)
    top = [candidate for candidate, score in zip(question.candidates, filled, strict=True) if score == highest]
    return TopCandidate(top[0].id, top[0].text, len(top), sum(candidate.is_correct for candidate in top))


def _read_scores(name: str, questions: Sequence[Question]) -> RunScores:
    path = Path(name)
    if path == STDIN or path.exists():
        return read_run_scores(path, questions)
    if name not in BASELINES:
        raise MissingFileError(f"{name}: no such file, and no baseline of that name; these are {', '.join(BASELINES)}")
    return RunScores([list(scores) for scores in BASELINES[name](questions)], missing=())


def _pair_runs(names: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return (run, baseline) for each comparison to make."""
    if len(names) < 2:
        raise UsageError(f"expected two or more runs to compare, got {len(names)}: name another, or a baseline as BM25")
    if baseline is None:
        return [(later, earlier) for earlier, later in combinations(names, 2)]
    if baseline not in names:
        raise UsageError(f"expected a baseline among the runs, got '{baseline}': the runs are {', '.join(names)}")
    return [(name, baseline) for name in names if name != baseline]


def _test_pairs(
    pairs: Sequence[tuple[str, str]], values: Mapping[str, Sequence[float]], settings: ComparisonSettings
) -> tuple[PairComparison, ...]:
    differences = [
        compare_paired(values[run], values[baseline], seed=settings.seed, resamples=settings.resamples)
        for run, baseline in pairs
    ]
    t_tests = adjust_holm([difference.t_test for difference in differences])
    randomisations = adjust_holm([difference.randomisation.p for difference in differences])
    return tuple(
        PairComparison(run, baseline, difference, t_test, randomisation)
        for (run, baseline), difference, t_test, randomisation in zip(
            pairs, differences, t_tests, randomisations, strict=True
        )
    )


def _find_contrasts(
    questions: Sequence[Question],
    runs: Mapping[str, Scores],
    found: Mapping[str, Evaluation],
    settings: ComparisonSettings,
) -> tuple[QuestionContrast, ...]:
    """Return the questions with the largest spread, those with equal spread in the order of the data."""
    place_in_data = {question.id: place for place, question in enumerate(questions)}
    question_ids = next(iter(found.values())).question_ids
    columns = [evaluation.values[settings.measure].tolist() for evaluation in found.values()]
    spreads = [max(row) - min(row) for row in zip(*columns, strict=True)]
    order = sorted(range(len(spreads)), key=lambda place: -spreads[place])[: settings.most_different]
    contrasts = []
    for place in order:
        if spreads[place] < EQUAL_WITHIN:
            break
        where = place_in_data[question_ids[place]]
        each = tuple(
            RunOnQuestion(
                name,
                column[place],
                _finite(evaluation.first_correct[place]),
                find_top(questions[where], runs[name][where]),
            )
            for (name, evaluation), column in zip(found.items(), columns, strict=True)
        )
        contrasts.append(QuestionContrast(questions[where].id, questions[where].text, spreads[place], each))
    return tuple(contrasts)


def _finite(rank: float) -> float | None:
    return float(rank) if math.isfinite(rank) else None
