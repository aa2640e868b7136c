"""Answer types a second in batches, and the time of a single question: `python benchmarks/answer_types.py`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from anselect.text.answer_type import detect_answer_type, detect_answer_types

CHECK_SET = Path(__file__).parent.parent / "tests" / "text" / "modern_questions.tsv"


def main() -> None:
    """Measure on our own check set, or on a file with one question a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, default=CHECK_SET, help="text file, first tab-separated cell is read")
    parser.add_argument("--count", type=int, default=5000, help="questions in the batch run; the file is repeated")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = options.questions.read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[0] for line in lines]
    started = time.perf_counter()
    detect_answer_type(texts[0])
    print(f"first question, with loading: {(time.perf_counter() - started) * 1000:.0f} ms")
    many = (texts * (options.count // len(texts) + 1))[: options.count]
    for _ in range(options.rounds):
        started = time.perf_counter()
        found = sum(1 for _ in detect_answer_types(many))
        print(f"batches: {found / (time.perf_counter() - started):,.0f} questions a second")
    times = [_seconds(text) for text in many[:1000]]
    p50, p95 = np.percentile(times, [50, 95]) * 1000
    print(f"single question: p50 {p50:.2f} ms, p95 {p95:.2f} ms")


def _seconds(text: str) -> float:
    started = time.perf_counter()
    detect_answer_type(text)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
