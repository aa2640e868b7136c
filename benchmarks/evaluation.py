"""Evaluate one million candidates in 50,000 questions with Anselect and with pytrec_eval, and time the parsers.

    python benchmarks/evaluation.py [--json] [--rounds 5] [--data-dir DIR]

Both evaluate the same run in the same process, in turns, and the best of several rounds counts, in CPU seconds. Exits 1
if Anselect is slower than pytrec_eval, disagrees with it, or needs more than 1 GB of memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval

from anselect.data.locate import read_split
from anselect.data.protocols import PROTOCOLS
from anselect.errors import MissingFileError
from anselect.evaluation.evaluate import Evaluator
from anselect.records import Candidate, Question

QUESTIONS, CANDIDATES, SEED = 50_000, 1_000_000, 20
MEASURES = {
    "MAP": "map",
    "MRR": "recip_rank",
    "P@1": "P_1",
    "P@5": "P_5",
    "R@1": "recall_1",
    "R@5": "recall_5",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
}
PerQuestion = Mapping[str, Mapping[str, float]]
MEMORY_LIMIT_BYTES = 1_000_000_000
# What a BERT-base cross-encoder trains per second on two CPU cores: an estimate, and so is the epoch it gives.
TRAINING_PAIRS_PER_SECOND = 35
TRAIN_ALL_PAIRS = 53_417


def make_questions() -> tuple[list[Question], np.ndarray[Any, np.dtype[np.float64]]]:
    """Make labelled questions of 1 to 39 candidates, and scores with two decimals, so that there are ties."""
    generator = np.random.default_rng(SEED)
    sizes = generator.multinomial(CANDIDATES - QUESTIONS, np.full(QUESTIONS, 1 / QUESTIONS)) + 1
    labels = (generator.random(CANDIDATES) < 0.12).astype(int).tolist()
    scores = generator.normal(size=CANDIDATES).round(2)
    ends = np.cumsum(sizes).tolist()
    questions = [
        Question(
            f"q{number}",
            "",
            tuple(Candidate(f"q{number}-{place - start}", "", labels[place]) for place in range(start, end)),
        )
        for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
    ]
    return questions, scores


def by_ids(questions: list[Question], values: list[Any]) -> dict[str, dict[str, Any]]:
    """Spread a flat list over the ids of questions and candidates, as pytrec_eval wants it."""
    flat = iter(values)
    return {question.id: {candidate.id: next(flat) for candidate in question.candidates} for question in questions}


def in_rank_order(run: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Sort each question's candidates best first, as in a run file: nobody is to profit from the order of the data."""
    return {question_id: dict(sorted(own.items(), key=lambda entry: -entry[1])) for question_id, own in run.items()}


def best_of(rounds: int, contestants: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Time the contestants in turns and return the best time of each, in CPU seconds.

    All of them use one thread. Wall time would count what else the machine does.
    """
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, work in contestants.items():
            gc.collect()
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def peak_memory_bytes() -> int:
    """Return the most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def compare_with_pytrec_eval(rounds: int) -> dict[str, Any]:
    """Time both on the same run, and check that they agree under trec_eval's rules."""
    questions, scores = make_questions()
    started = time.process_time()
    evaluator = Evaluator(questions)
    seconds_to_prepare = time.process_time() - started
    run = in_rank_order(by_ids(questions, scores.tolist()))
    memory_of_ours = measure_alone(evaluator, run)
    qrels = by_ids(questions, [candidate.label for question in questions for candidate in question.candidates])
    official = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()))
    expected, as_trec_eval = PROTOCOLS["every"], PROTOCOLS["trec_eval"]
    difference = largest_difference(
        evaluator.evaluate_run(run, protocol=as_trec_eval).per_question, official.evaluate(run)
    )
    seconds = best_of(
        rounds,
        {
            "pytrec_eval, from dicts": lambda: official.evaluate(run),
            "anselect, from dicts": lambda: evaluator.evaluate_run(run, protocol=expected),
            "anselect, from an array": lambda: evaluator.evaluate_array(scores, protocol=expected),
            "anselect under trec_eval, from dicts": lambda: evaluator.evaluate_run(run, protocol=as_trec_eval),
        },
    )
    return {
        "questions": len(questions),
        "candidates": len(scores),
        "tied_pairs": evaluator.evaluate_array(scores, protocol=expected).tied_pairs,
        "seconds_to_prepare": seconds_to_prepare,
        "seconds": seconds,
        "times_faster": {
            name: seconds["pytrec_eval, from dicts"] / value for name, value in seconds.items() if "anselect" in name
        },
        "largest_difference": difference,
        "peak_memory_bytes": memory_of_ours,
        "peak_memory_with_pytrec_eval_bytes": peak_memory_bytes(),
    }


def measure_alone(evaluator: Evaluator, run: dict[str, dict[str, float]]) -> int:
    """Evaluate under both rules before pytrec_eval is loaded with anything, and return the peak memory so far."""
    for name in ("every", "trec_eval"):
        evaluator.evaluate_run(run, protocol=PROTOCOLS[name])
    return peak_memory_bytes()


def largest_difference(ours: PerQuestion, theirs: PerQuestion) -> float:
    """Return the largest difference of any measure of any question."""
    return max(
        abs(values[name] - theirs[question_id][official])
        for question_id, values in ours.items()
        for name, official in MEASURES.items()
    )


def time_parsing(rounds: int, data_dir: Path | None) -> dict[str, Any] | None:
    """Time reading TrecQA train-all, beside an estimate of one epoch of training on it; None without the data."""
    try:
        pairs = sum(len(question.candidates) for question in read_split("trecqa", "train-all", data_dir=data_dir))
    except MissingFileError:
        return None
    seconds = best_of(rounds, {"parse": lambda: read_split("trecqa", "train-all", data_dir=data_dir)})["parse"]
    epoch = TRAIN_ALL_PAIRS / TRAINING_PAIRS_PER_SECOND
    return {"pairs": pairs, "seconds": seconds, "epoch_seconds_estimated": epoch, "share_of_epoch": seconds / epoch}


def print_report(report: dict[str, Any]) -> None:
    """Print the figures for people."""
    print(
        f"{report['candidates']:,} candidates in {report['questions']:,} questions, {report['tied_pairs']:,} tied pairs"
    )
    for name, seconds in report["seconds"].items():
        faster = report["times_faster"].get(name)
        print(f"  {name:38} {seconds:7.3f} CPU s" + (f"   {faster:5.2f} times as fast" if faster else ""))
    print(f"  largest difference to pytrec_eval: {report['largest_difference']:.1e}")
    print(f"  peak memory: {report['peak_memory_bytes'] / 1e6:,.0f} MB, data included", end="")
    print(f" ({report['peak_memory_with_pytrec_eval_bytes'] / 1e6:,.0f} MB together with pytrec_eval's)")
    parsing = report["parsing"]
    if parsing is None:
        print("TrecQA train-all is not on this machine: parsing not timed")
    else:
        print(f"TrecQA train-all: {parsing['pairs']:,} pairs parsed in {parsing['seconds']:.2f} s, ", end="")
        print(f"{parsing['share_of_epoch']:.2%} of an epoch (estimated {parsing['epoch_seconds_estimated']:,.0f} s)")


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Evaluation speed, memory and agreement with pytrec_eval.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many counts")
    parser.add_argument("--data-dir", type=Path, help="folder with data sets")
    options = parser.parse_args()
    report = compare_with_pytrec_eval(options.rounds)
    report["parsing"] = time_parsing(min(options.rounds, 3), options.data_dir)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        print_report(report)
    is_good = (
        min(report["times_faster"].values()) >= 1
        and report["largest_difference"] < 1e-12
        and report["peak_memory_bytes"] < MEMORY_LIMIT_BYTES
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
