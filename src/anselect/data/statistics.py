"""Questions in, counts out; and the counts of the named data sets beside those that papers print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anselect.data.catalogue import CLEAN, RAW, CleanRule, Counts, HashStatus, Version, find_dataset, find_split
from anselect.data.locate import SplitSource, read_split, split_source
from anselect.records import Question


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a list of questions holds; words are runs of non-blank characters."""

    counts: Counts
    mean_candidates: float
    """Per question that has candidates; 0.0 where there is none, as are the means below."""
    mean_question_words: float
    mean_candidate_words: float
    max_candidate_words: int


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """One version of a split at hand, beside what is known about it."""

    data: str
    split: str
    version: str
    statistics: Statistics
    known: Version
    source: SplitSource

    @property
    def remark(self) -> str:
        """Say where ours differs from the true or the published counts, and why; empty where all is equal."""
        remarks = [self._against_true(), self._against_published(), self._against_hash()]
        return "; ".join(remark for remark in remarks if remark)

    @property
    def is_as_known(self) -> bool:
        """Whether neither the counts nor the bytes differ from those recorded."""
        return not self._against_true() and not self._against_hash()

    @property
    def matches_published(self) -> bool | None:
        """Whether questions and candidates are those of the published figure shown first; None where none is known."""
        if not self.known.published:
            return None
        published, counts = self.known.published[0], self.statistics.counts
        return (published.questions, published.candidates) == (counts.questions, counts.candidates)

    def _against_true(self) -> str:
        counts, known = self.statistics.counts, self.known.counts
        if known is None or counts == known or self._is_only_without_empty_questions(known):
            return ""
        pairs = ((field, getattr(known, field), getattr(counts, field)) for field in Counts.__slots__)
        return "expected " + ", ".join(f"{field} {true}, got {ours}" for field, true, ours in pairs if true != ours)

    def _is_only_without_empty_questions(self, known: Counts) -> bool:
        """A pair file has no line for a question without candidates."""
        counts = self.statistics.counts
        without = Counts(**{field: getattr(known, field) for field in Counts.__slots__} | {"without_candidates": 0})
        return self.source.kind == "normalised" and counts == without

    def _against_published(self) -> str:
        differs = self.matches_published is False
        return self.known.why or ("differs from the published count" if differs else "")

    def _against_hash(self) -> str:
        changed = [file.path.name for file in self.source.files if file.status is HashStatus.changed]
        return f"{', '.join(changed)}: {HashStatus.changed.value}" if changed else ""


def describe(questions: Iterable[Question]) -> Statistics:
    """Count questions, candidates and words.

    >>> from anselect.records import Candidate
    >>> question = Question("1", "Who called?", (Candidate("a", "Bell did.", 1), Candidate("b", "It rings.", 0)))
    >>> describe([question]).counts
    Counts(questions=1, candidates=2, positives=1, no_positive=0, all_positive=0, without_candidates=0)
    """
    everything = list(questions)
    asked = [question for question in everything if question.candidates]
    lengths = [len(candidate.text.split()) for question in asked for candidate in question.candidates]
    return Statistics(
        counts=_count(asked, len(everything) - len(asked)),
        mean_candidates=_mean(len(question.candidates) for question in asked),
        mean_question_words=_mean(len(question.text.split()) for question in asked),
        mean_candidate_words=_mean(lengths),
        max_candidate_words=max(lengths, default=0),
    )


def clean_questions(questions: Iterable[Question], *, keep_all_positive: bool = True) -> list[Question]:
    """Keep the questions with a correct candidate; without `keep_all_positive` they need an incorrect one as well.

    WikiQA's clean version keeps all-positive questions, TrecQA's (dev and test only) does not.
    """
    return [
        question for question in questions if question.has_positive and (keep_all_positive or question.has_negative)
    ]


def describe_split(name: str, split: str, data_dir: Path | None = None) -> Iterator[SplitStatistics]:
    """Read a split and describe each version that the catalogue knows of it, raw first."""
    dataset, about = find_dataset(name), find_split(name, split)
    source = split_source(name, split, data_dir)
    questions = read_split(name, split, data_dir=data_dir)
    yield SplitStatistics(name, split, RAW, describe(questions), about.versions[RAW], source)
    if CLEAN in about.versions:
        clean = clean_questions(questions, keep_all_positive=dataset.clean_rule is CleanRule.answerable)
        yield SplitStatistics(name, split, CLEAN, describe(clean), about.versions[CLEAN], source)


def _count(asked: Sequence[Question], without_candidates: int) -> Counts:
    return Counts(
        questions=len(asked),
        candidates=sum(len(question.candidates) for question in asked),
        positives=sum(question.positives for question in asked),
        no_positive=sum(not question.has_positive for question in asked),
        all_positive=sum(question.positives == len(question.candidates) for question in asked),
        without_candidates=without_candidates,
    )


def _mean(values: Iterable[int]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
