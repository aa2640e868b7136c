"""Tokens of pairs in, batches of model inputs out, in which all rows have the same number of tokens.

Nothing is ever padded. A masked softmax adds its terms in another grouping when the row is longer, so a padded pair's
score differs in the last bits from an unpadded one's; rows of equal length give the same bits in any company. Sorting
by length makes such batches large where there are many pairs, and a pair alone costs only 15 % more than in company.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from anselect.engine.tokens import Encoded, Ids, PairTemplate

MIN_CANDIDATE_TOKENS: Final = 16
"""How many tokens a question that is longer than the limit leaves to its candidate (`modeling/pair_tokens.py`)."""
TOKENS_PER_BATCH: Final = 512
"""Activations of so many tokens still lie in a core's cache."""

Size = TypeVar("Size", int, tuple[int, int])
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Row:
    """One input of the model: a question and its candidate, or one window of it."""

    pair: int
    """Which pair it belongs to."""
    question: Ids
    candidate: Ids


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of equal length, ready for the model."""

    pairs: NDArray[np.int64]
    """Which pair each row belongs to (B)."""
    inputs: dict[str, NDArray[Any]]
    """`ids`, `segments`, `question_mask` and `candidate_mask`, each (B, T)."""


def fit_question(question: Ids, candidate: int, room: int) -> Ids:
    """Cut a question only where it alone would leave its candidate fewer than 16 tokens, as in training.

    Example:
        >>> fit_question(np.arange(40), 30, 50).tolist() == list(range(34))
        True
    """
    return question[: room - min(candidate, MIN_CANDIDATE_TOKENS, room // 2)]


def fit_pair(pair: int, question: Encoded, candidate: Encoded, room: int, *, windows: bool) -> tuple[list[Row], bool]:
    """Return the rows of a pair and whether anything of it was cut; several rows only for windows."""
    kept = fit_question(question.ids, len(candidate.ids), room)
    size = room - len(kept)
    is_cut = len(kept) < len(question.ids) or not question.is_whole or not candidate.is_whole
    if not windows:
        is_cut = is_cut or len(candidate.ids) > size
        return [Row(pair, kept, candidate.ids[:size])], is_cut
    starts = window_starts(len(candidate.ids), size)
    return [Row(pair, kept, candidate.ids[start : start + size]) for start in starts], is_cut


def window_starts(tokens: int, size: int) -> range | list[int]:
    """Return where windows begin that overlap by half; the last one ends with the text.

    Example:
        >>> list(window_starts(25, 10))
        [0, 5, 10, 15]
        >>> list(window_starts(8, 10))
        [0]
    """
    if tokens <= size:
        return [0]
    last = tokens - size
    return [*range(0, last, max(size // 2, 1)), last]


def make_batches(rows: Sequence[Row], template: PairTemplate, *, threads: int) -> Iterator[Batch]:
    """Put rows of equal length together, long ones first, so that no thread is left with a long one at the end."""
    by_length: dict[int, list[Row]] = {}
    for row in rows:
        by_length.setdefault(len(row.question) + len(row.candidate) + template.specials, []).append(row)
    for part in dealt(by_length, lambda length: length, threads):
        yield _make_batch(part, template)


def dealt(
    groups: Mapping[Size, Sequence[Item]], tokens: Callable[[Size], int], threads: int
) -> Iterator[Sequence[Item]]:
    """Cut groups of equal items, the largest items first, into batches of a bounded number of tokens.

    Few items are dealt out to all threads.
    """
    total = sum(tokens(size) * len(group) for size, group in groups.items())
    budget = min(TOKENS_PER_BATCH, -(-total // threads))
    for size in sorted(groups, reverse=True):
        step = max(1, budget // tokens(size))
        for start in range(0, len(groups[size]), step):
            yield groups[size][start : start + step]


def _make_batch(rows: Sequence[Row], template: PairTemplate) -> Batch:
    before, between = len(template.before[0]), len(template.between[0])
    shape = (len(rows), len(rows[0].question) + len(rows[0].candidate) + template.specials)
    ids, segments = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    question_mask, candidate_mask = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for place, row in enumerate(rows):
        question_end = before + len(row.question)
        candidate = slice(question_end + between, question_end + between + len(row.candidate))
        parts = (template.before[0], row.question, template.between[0], row.candidate, template.behind[0])
        np.concatenate(parts, out=ids[place])
        segments[place, :before], segments[place, before:question_end] = template.before[1], template.question_segment
        segments[place, question_end : candidate.start] = template.between[1]
        segments[place, candidate] = template.candidate_segment
        segments[place, candidate.stop :] = template.behind[1]
        question_mask[place, before:question_end] = True
        candidate_mask[place, candidate] = True
    inputs: dict[str, NDArray[Any]] = {
        "ids": ids,
        "segments": segments,
        "question_mask": question_mask,
        "candidate_mask": candidate_mask,
    }
    return Batch(np.array([row.pair for row in rows], dtype=np.int64), inputs)
