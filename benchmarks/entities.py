"""NER tokens per second for sm and md, with one and two processes, cold and from the cache.

Run as `python benchmarks/entities.py [--texts N] [--rounds N] [--json FILE]`. The ways are interleaved round by round
and the best round counts, so that other work on the machine disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from anselect.data.locate import read_split
from anselect.errors import MissingFileError
from anselect.text.entities import TEXTS_PER_STEP, TEXTS_PER_WORKER_STEP, CachedTagger
from anselect.text.entity_cache import EntityCache
from anselect.text.pipelines import find_pipeline
from anselect.text.spacy_tagger import SpacyTagger

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
    """Measure and print a table; exit 1 if the cache is not fast enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    source, texts = read_texts(options.texts)
    rows = measure(texts, options.rounds)
    load = os.getloadavg()[0]
    about = f"{date.today()}, {len(texts)} {source}, best of {options.rounds}, {os.cpu_count()} cores, load {load:.1f}"
    print(f"{about}, Python {platform.python_version()}\n")
    columns = list(rows[0])
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(row[column]) for column in columns)} |")
    if options.json:
        options.json.write_text(json.dumps({"about": about, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    if any(int(str(row["speedup"])) < WANTED_SPEEDUP for row in rows):
        raise SystemExit(f"expected the cache to be {WANTED_SPEEDUP} times faster than tagging")


if __name__ == "__main__":
    main()
