"""Answer types a second, and NER tokens a second for sm and md with one and two processes, cold and from the cache.

Run as `python benchmarks/text.py [--questions N] [--texts N] [--rounds N] [--json FILE]`. The ways are interleaved
round by round and the best round counts, so that other work on the machine disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from anselect.data.locate import read_split
from anselect.errors import MissingFileError
from anselect.text.answer_type import detect_answer_type, detect_answer_types
from anselect.text.entities import TEXTS_PER_STEP, TEXTS_PER_WORKER_STEP, CachedTagger
from anselect.text.entity_cache import EntityCache
from anselect.text.pipelines import find_pipeline
from anselect.text.spacy_tagger import SpacyTagger

CHECK_SET = Path(__file__).parent.parent / "tests" / "text" / "modern_questions.tsv"
PIPELINES = ("en_core_web_sm", "en_core_web_md")
PROCESSES = (1, 2)
WANTED_SPEEDUP = 50


def read_texts(count: int) -> tuple[str, list[str]]:
    """Return distinct candidates of WikiQA test or, where it is absent, sentences of our own."""
    try:
        questions = read_split("wikiqa", "test")
    except MissingFileError:
        places = ("Boston", "Paris", "Edinburgh", "Montreal")
        made = [
            f"In {1800 + n} Alexander Bell the {n}th moved from {places[n % 4]} to work for AT&T." for n in range(count)
        ]
        return "generated sentences", made
    texts = dict.fromkeys(candidate.text for question in questions for candidate in question.candidates)
    return "WikiQA test candidates", list(texts)[:count]


def measure_answer_types(count: int, rounds: int) -> dict[str, float]:
    """Return questions a second in batches, and how long one question takes by itself."""
    lines = CHECK_SET.read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[0] for line in lines]
    first = _seconds(lambda: detect_answer_type(texts[0]))
    many = (texts * (count // len(texts) + 1))[:count]
    best = min(_seconds(lambda: sum(1 for _ in detect_answer_types(many))) for _ in range(rounds))
    p50, p95 = np.percentile([_seconds(functools.partial(detect_answer_type, text)) for text in many[:1000]], [50, 95])
    return {
        "first_question_with_loading_ms": round(first * 1000, 1),
        "questions_per_second_in_batches": round(count / best),
        "single_question_p50_ms": round(p50 * 1000, 2),
        "single_question_p95_ms": round(p95 * 1000, 2),
    }


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def count_tokens(texts: Sequence[str]) -> int:
    """Count the tokens as spaCy makes them."""
    import spacy

    nlp = spacy.blank("en")
    return sum(len(nlp.make_doc(text)) for text in texts)


def time_round(
    taggers: dict[tuple[str, int], SpacyTagger], texts: Sequence[str]
) -> Iterator[tuple[str, int, str, float]]:
    """Time every tagger once with an empty cache and once with the one that it filled."""
    for (name, processes), tagger in taggers.items():
        step = TEXTS_PER_STEP if processes == 1 else TEXTS_PER_WORKER_STEP
        with tempfile.TemporaryDirectory() as folder:
            for state in ("cold", "cached"):
                cache = EntityCache(Path(folder))
                started = time.perf_counter()
                found = sum(1 for _ in CachedTagger(tagger, cache, texts_per_step=step).tag(texts))
                seconds = time.perf_counter() - started
                cache.close()
                if found != len(texts):
                    raise SystemExit(f"expected {len(texts)} results, got {found}")
                yield name, processes, state, seconds


def measure(texts: Sequence[str], rounds: int) -> list[dict[str, object]]:
    """Return the best of several rounds for every pipeline, number of processes and state of the cache."""
    taggers = {(name, n): SpacyTagger(find_pipeline(name), n_process=n) for name in PIPELINES for n in PROCESSES}
    for tagger in taggers.values():
        list(tagger.tag(["Alexander Graham Bell lived in Boston."]))  # loads the pipeline
    best: dict[tuple[str, int, str], float] = {}
    for _ in range(rounds):
        for name, processes, state, seconds in time_round(taggers, texts):
            key = name, processes, state
            best[key] = min(seconds, best.get(key, seconds))
    tokens = count_tokens(texts)
    return [
        {
            "pipeline": name,
            "processes": processes,
            "cold_tokens_per_second": round(tokens / best[name, processes, "cold"]),
            "cached_tokens_per_second": round(tokens / best[name, processes, "cached"]),
            "speedup": round(best[name, processes, "cold"] / best[name, processes, "cached"]),
        }
        for name, processes in taggers
    ]


def main() -> None:
    """Measure and print; exit 1 if the cache is not fast enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--texts", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    types = measure_answer_types(options.questions, options.rounds)
    source, texts = read_texts(options.texts)
    rows = measure(texts, options.rounds)
    load = os.getloadavg()[0]
    about = f"{date.today()}, {len(texts)} {source}, best of {options.rounds}, {os.cpu_count()} cores, load {load:.1f}"
    print(f"{about}, Python {platform.python_version()}\n")
    print("\n".join(f"{name:34} {value:,}" for name, value in types.items()) + "\n")
    columns = list(rows[0])
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(row[column]) for column in columns)} |")
    if options.json:
        options.json.write_text(
            json.dumps({"about": about, "answer_types": types, "entities": rows}, indent=2) + "\n", encoding="utf-8"
        )
    if any(int(str(row["speedup"])) < WANTED_SPEEDUP for row in rows):
        raise SystemExit(f"expected the cache to be {WANTED_SPEEDUP} times faster than tagging")


if __name__ == "__main__":
    main()
