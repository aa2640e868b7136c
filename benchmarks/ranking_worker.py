"""One side of the ranking benchmark in a process of its own: requests in on stdin, scores and times out on stdout.

    python -m benchmarks.ranking_worker SIDE FOLDER THREADS

A request is a line of JSON, a list of [question, [candidate, …]]; so is the answer: scores, seconds, CPU seconds and
the peak of memory since the process began.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from benchmarks.ranking_sides import SIDES


def peak_megabytes() -> float:
    """Return the most memory that this process ever held, in units of 1,000,000 bytes (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def main() -> None:
    """Answer requests until stdin ends."""
    side, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    # All sides get the same cores, also those that ask the system how many there are.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not be read as an answer
    score = SIDES[side].load(folder, threads)
    for line in sys.stdin:
        asked = [(question, candidates) for question, candidates in json.loads(line)]
        wall, cpu = time.perf_counter(), time.process_time()
        scores = score(asked)
        answer = {
            "scores": scores,
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "peak_megabytes": peak_megabytes(),
        }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__" and len(sys.argv) == 4:
    main()
