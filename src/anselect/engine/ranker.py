"""An engine folder in, a ranker out: scores questions with onnxruntime and tokenizers alone.

Scores do not depend on what else is scored with a pair: int8 products have fixed ranges, and nothing is padded.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from anselect.data.files import present_folder
from anselect.engine.batching import Batch, Row, fit_pair, make_batches
from anselect.engine.folder import MANIFEST, MODEL, REPAIR, TOKENIZER, Manifest, read_manifest
from anselect.engine.question_states import candidate_batches, parts_of, question_batches
from anselect.engine.score_cache import ScoreCache, score_key
from anselect.engine.scores import to_scores
from anselect.engine.session import ModelSession
from anselect.engine.tokens import MAX_CHARACTERS, Encoded, TextTokenizer
from anselect.errors import DataError, UsageError
from anselect.records import Question, ScoredQuestions
from anselect.text.highlight import Way, special_tokens
from anselect.text.steps import NONE, TextSteps

Long = Literal["cut", "windows"]
PAIRS_PER_STEP: Final = 4096
"""How many pairs are sorted by length at a time."""
CHARACTERS_PER_STEP: Final = 2_000_000

Pair = tuple[str, str]
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How an engine treats what it is given."""

    long: Long = "cut"
    """What happens to a candidate that is too long: cut, or read in windows, of which the best counts."""
    threads: int = 1


class EngineRanker:
    """Scores the candidates of questions; `load_engine` makes one. Thread-safe."""

    def __init__(self, folder: Path, options: EngineOptions, cache: ScoreCache | None = None) -> None:
        self.manifest: Manifest = read_manifest(folder)
        self._options = options
        self._cache = cache
        self.tokenizer = TextTokenizer(folder / TOKENIZER, self.manifest)
        self.steps = _text_steps(self.manifest, folder, self.tokenizer.added)
        self._session = ModelSession(folder / MODEL, as_written=self.manifest.precision == "int8")
        self._room = self.manifest.max_tokens - self.tokenizer.template.specials

    @property
    def description(self) -> str:
        """What the manifest says of the model."""
        return self.manifest.description

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score every candidate; each distinct pair of texts once.

        `cut_candidates` counts the candidates whose own text or whose question was not read whole.
        """
        prepared = list(self.steps.apply(questions))
        places, pairs = _distinct(prepared)
        logits, is_cut = np.empty(len(pairs)), np.zeros(len(pairs), dtype=np.bool_)
        for part in _steps_of(pairs):
            logits[part], is_cut[part] = self._look_up([pairs[place] for place in part])
        scores = to_scores(logits, temperature=self.manifest.temperature, bias=self.manifest.bias)
        scored = ScoredQuestions.from_flat(questions, scores[places].tolist(), int(is_cut[places].sum()))
        return replace(scored, max_tokens=self.manifest.max_tokens)

    def logits(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the logit of each pair of texts, without text steps, calibration or cache."""
        found = [self._compute([pairs[place] for place in part])[0] for part in _steps_of(pairs)]
        return np.concatenate([np.empty(0), *found])

    def _look_up(self, pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if self._cache is None:
            return self._compute(pairs)
        model = f"{self.manifest.model_hash}\0{self.manifest.max_tokens}\0{self._options.long}"
        keys = [score_key(model, *pair) for pair in pairs]
        known = self._cache.get(keys)
        new = [place for place, key in enumerate(keys) if key not in known]
        logits, is_cut = self._compute([pairs[place] for place in new])
        found = {keys[place]: (float(logit), bool(cut)) for place, logit, cut in zip(new, logits, is_cut, strict=True)}
        self._cache.put(found)
        values = [known[key] if key in known else found[key] for key in keys]
        return np.array([value[0] for value in values]), np.array([value[1] for value in values], dtype=np.bool_)

    def _compute(self, pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        logits, is_cut = np.full(len(pairs), -np.inf), np.zeros(len(pairs), dtype=np.bool_)
        rows: list[Row] = []
        windows = self._options.long == "windows"
        for place, (question, candidate) in enumerate(self._encode(pairs, windows=windows)):
            own, is_cut[place] = fit_pair(place, question, candidate, self._room, windows=windows)
            rows.extend(own)
        for batch, found in self._run_rows(rows):
            # A pair with several windows counts by its best one.
            np.maximum.at(logits, batch.pairs, found)
        return logits, is_cut

    def _run_rows(self, rows: Sequence[Row]) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
        template, threads = self.tokenizer.template, self._options.threads
        if rows and not self._session.state_width:
            batches = list(make_batches(rows, template, threads=threads))
            yield from zip(batches, self._run_all(self._session.run, [batch.inputs for batch in batches]), strict=True)
            return
        for part in parts_of(rows, template):
            asked = list(question_batches(part, template, threads=threads))
            read = self._run_all(self._session.read_questions, [batch.ids for batch in asked])
            states = {
                key: state
                for batch, own in zip(asked, read, strict=True)
                for key, state in zip(batch.keys, own, strict=True)
            }
            batches = list(candidate_batches(part, states, template, threads=threads))
            yield from zip(batches, self._run_all(self._session.run, [batch.inputs for batch in batches]), strict=True)

    def _encode(self, pairs: Sequence[Pair], *, windows: bool) -> Iterator[tuple[Encoded, Encoded]]:
        """Tokenize every distinct text once."""
        asked, answers = list(dict.fromkeys(pair[0] for pair in pairs)), list(dict.fromkeys(pair[1] for pair in pairs))
        questions = dict(zip(asked, self.tokenizer.encode_ends(asked), strict=True))
        wanted = MAX_CHARACTERS if windows else self._room
        candidates = dict(zip(answers, self.tokenizer.encode(answers, wanted=wanted), strict=True))
        return ((questions[question], candidates[candidate]) for question, candidate in pairs)

    def _run_all(
        self, run: Callable[[Given], NDArray[np.float32]], batches: Sequence[Given]
    ) -> Sequence[NDArray[np.float32]]:
        """Run batches on all threads, this one among them: a thread takes the next batch when it has done one."""
        found: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(batches)
        waiting = deque(range(len(batches)))

        def take_part() -> None:
            while True:
                try:
                    place = waiting.popleft()
                except IndexError:
                    return
                found[place] = run(batches[place])

        helpers = min(len(batches), self._options.threads) - 1
        if helpers < 1:
            take_part()
            return found
        # Threads live for one call only: a process that forks later must not inherit a pool without its threads.
        with ThreadPoolExecutor(helpers) as pool:
            others = [pool.submit(take_part) for _ in range(helpers)]
            try:
                take_part()
            finally:
                waiting.clear()  # After an error or an interruption nothing more is begun.
        for other in others:
            other.result()
        return found


def load_engine(
    folder: Path, *, long: Long = "cut", cache: ScoreCache | Path | None = None, threads: int | None = None
) -> EngineRanker:
    """Load an engine folder, all its files checked.

    `cache` is a folder for scores on disk, or a ScoreCache; `threads` are all that the process may use by default.
    Raises what `read_manifest` raises, UsageError for options that do not exist.
    """
    if long not in get_args(Long):
        raise UsageError(f"unknown way with long candidates '{long}': choose from {', '.join(get_args(Long))}")
    if threads is not None and threads < 1:
        raise UsageError(f"expected one thread or more, got {threads}")
    options = EngineOptions(long=long, threads=threads or _usable_cores())
    kept = ScoreCache(cache) if isinstance(cache, Path) else cache
    return EngineRanker(present_folder(folder) or folder, options, kept)


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text_steps(manifest: Manifest, folder: Path, tokens: frozenset[str]) -> TextSteps:
    """Return what to do with texts; highlighting must be that which the tokenizer has tokens for."""
    try:
        steps = TextSteps(**manifest.text_steps)
    except TypeError as error:
        raise DataError(f"expected known text steps ({error}): export it with this version", path=folder) from error
    trained_on = [way.value for way in Way if tokens.issuperset(special_tokens(way))] or [NONE]
    if steps.highlight not in trained_on:
        # Scores of a model on texts of another kind look right and are not.
        message = f"trained on highlighting '{trained_on[0]}', its text steps say '{steps.highlight}'"
        raise DataError(f"{message}: {REPAIR}", path=folder / MANIFEST)
    return steps


def _distinct(questions: Sequence[Question]) -> tuple[NDArray[np.int64], list[Pair]]:
    """Return the distinct pairs of texts and, for each candidate of question after question, which one is its."""
    slots: dict[str, dict[str, int]] = {}
    pairs: list[Pair] = []
    places: list[int] = []
    for question in questions:
        own = slots.setdefault(question.text, {})
        for candidate in question.candidates:
            place = own.setdefault(candidate.text, len(pairs))
            if place == len(pairs):
                pairs.append((question.text, candidate.text))
            places.append(place)
    return np.array(places, dtype=np.int64), pairs


def _steps_of(pairs: Sequence[Pair]) -> Iterator[range]:
    """Cut pairs into parts that are bounded in number and in characters."""
    start = characters = 0
    for place, (_, candidate) in enumerate(pairs):
        characters += min(len(candidate), MAX_CHARACTERS)
        if place + 1 - start >= PAIRS_PER_STEP or characters >= CHARACTERS_PER_STEP:
            yield range(start, place + 1)
            start, characters = place + 1, 0
    if start < len(pairs):
        yield range(start, len(pairs))
