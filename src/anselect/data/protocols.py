"""The evaluation protocols as data: which questions count, how ties fall, which data sets they are for.

A figure without its protocol says little: the same ranking of TrecQA gets three different MAPs in the literature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from anselect.errors import UsageError

SEMEVAL: Final = ("semeval2015", "semeval2016", "semeval2017")


class Counting(StrEnum):
    """Which questions enter the mean; the value says it in words."""

    mixed = "questions with at least one correct and one incorrect candidate"
    answerable = "questions with at least one correct candidate"
    every = "every question that has candidates"


class Ties(StrEnum):
    """How candidates with equal scores are ordered; the value says it in words."""

    expected = "expected value over all orders of the tied candidates"
    docno_descending = "the candidate whose id is greater in byte order stands first"
    file_order = "the candidate that the file lists first stands first"
    label_first = "the correct candidate stands first"


@dataclass(frozen=True, slots=True)
class Protocol:
    """A named set of evaluation rules."""

    name: str
    counting: Counting
    summary: str
    """One sentence for the user: what it is, who uses it."""
    ties: Ties = Ties.expected
    data_sets: tuple[str, ...] = ()
    """The catalogue names it is meant for; empty: every data set."""
    for_own_files: bool = False
    """Whether `--protocol all` shows it for a user's own file."""
    single_precision: bool = False
    """Whether scores are compared as 32-bit floats, so that nearly equal ones tie."""
    keeps_missing: bool = True
    """Whether candidates absent from a run are ranked last (as one tie) or count as never found."""
    warning: str = ""
    """Why its figures must not be reported; empty for a sound protocol."""

    @property
    def no_positive(self) -> str:
        """What a question without a correct candidate scores."""
        return "0" if self.counting is Counting.every else "left out"

    def applies_to(self, data: str | None) -> bool:
        """Say whether it is meant for a data set of the catalogue (None: a user's own file)."""
        return self.for_own_files if data is None else not self.data_sets or data in self.data_sets


_ALL = (
    Protocol(
        "clean",
        Counting.mixed,
        "TrecQA without all-correct and all-incorrect questions: 65 in dev, 68 in test (Wang & Ittycheriah 2015).",
        data_sets=("trecqa",),
    ),
    Protocol(
        "raw-89",
        Counting.answerable,
        "TrecQA raw without the questions that have no correct candidate: 78 in dev, 89 in test; the CETE paper's "
        "raw figures fit this count.",
        data_sets=("trecqa",),
    ),
    Protocol(
        "raw-95",
        Counting.every,
        "TrecQA raw where a question without a correct candidate scores 0: 81 in dev, 95 in test; of the 100 test "
        "questions the 5 that have no candidate at all are left out. Most raw figures before BERT fit this count.",
        data_sets=("trecqa",),
    ),
    Protocol(
        "243",
        Counting.answerable,
        "WikiQA without the questions that have no correct candidate: 126 in dev, 243 in test; what most papers use.",
        data_sets=("wikiqa",),
    ),
    Protocol(
        "237",
        Counting.mixed,
        "WikiQA without all-correct and all-incorrect questions: 122 in dev, 237 in test (the official filtered lists, "
        "TANDA).",
        data_sets=("wikiqa",),
    ),
    Protocol(
        "633",
        Counting.every,
        "WikiQA whole: 296 in dev, 633 in test; a question without a correct candidate scores 0, so MAP cannot exceed "
        "243/633 = 0.384 in test.",
        data_sets=("wikiqa",),
    ),
    Protocol(
        "semeval",
        Counting.every,
        "SemEval community question answering, subtask A, as the official scorer counts: a question without a Good "
        "comment scores 0.",
        data_sets=SEMEVAL,
    ),
    Protocol(
        "answerable",
        Counting.answerable,
        "The general rule: questions with at least one correct candidate, ties by their expected value.",
        data_sets=("yahoocqa", *SEMEVAL),
        for_own_files=True,
    ),
    Protocol(
        "mixed",
        Counting.mixed,
        "Only questions where a ranking can be right or wrong: at least one correct and one incorrect candidate.",
        data_sets=("yahoocqa", *SEMEVAL),
        for_own_files=True,
    ),
    Protocol(
        "every",
        Counting.every,
        "Every question that has candidates; one without a correct candidate scores 0.",
        data_sets=("yahoocqa",),
        for_own_files=True,
    ),
    Protocol(
        "trec_eval",
        Counting.every,
        "What `trec_eval -c` prints: single-precision scores, candidates and questions that the run lacks count as not "
        "found, and ties go by descending id, so that figures with ties depend on how ids are spelled.",
        ties=Ties.docno_descending,
        for_own_files=True,
        single_precision=True,
        keeps_missing=False,
    ),
    Protocol(
        "cete",
        Counting.answerable,
        "What the CETE paper's script would print: a stable sort, so that ties keep the order of the file.",
        ties=Ties.file_order,
        for_own_files=True,
        warning="worthless where scores tie: a stable sort keeps the order of the file, and where that lists every "
        "correct candidate before every incorrect one, as TrecQA does, a constant scorer gets MAP 1.000; never report "
        "this figure.",
    ),
    Protocol(
        "tanda",
        Counting.mixed,
        "What the metric published for TANDA would print: it sorts (score, label), so that the label breaks ties.",
        ties=Ties.label_first,
        for_own_files=True,
        warning="worthless where scores tie: the label itself breaks the tie, so that a constant scorer gets MAP 1.000 "
        "on any data; never report this figure.",
    ),
)

PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType({protocol.name: protocol for protocol in _ALL})

_DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {"trecqa": "clean", "wikiqa": "243"} | dict.fromkeys(SEMEVAL, "semeval")
)


def default_protocol(data: str | None) -> Protocol:
    """Return the protocol that is used when none is named.

    >>> default_protocol("wikiqa").name, default_protocol(None).name
    ('243', 'answerable')
    """
    return PROTOCOLS[_DEFAULTS.get(data or "", "answerable")]


def protocols_for(data: str | None) -> tuple[Protocol, ...]:
    """Return every protocol that applies to a data set (None: to a user's own file), the default first.

    >>> [protocol.name for protocol in protocols_for("wikiqa")]
    ['243', '237', '633', 'trec_eval', 'cete', 'tanda']
    """
    return tuple(protocol for protocol in _ALL if protocol.applies_to(data))


def find_protocol(name: str, *, data: str | None = None) -> Protocol:
    """Return the protocol of that name; raise UsageError if there is none or if it is for other data sets.

    For a user's own file (data=None) every protocol may be named: the file may well be a copy of TrecQA.
    """
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        raise UsageError(f"unknown protocol '{name}': known are {', '.join(PROTOCOLS)}, all; 'help' explains them")
    if data is not None and not protocol.applies_to(data):
        fitting = ", ".join(other.name for other in protocols_for(data))
        raise UsageError(f"protocol '{name}' is for {', '.join(protocol.data_sets)}, not for {data}: use {fitting}")
    return protocol
