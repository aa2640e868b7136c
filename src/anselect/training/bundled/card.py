"""What was measured of the bundled model in, its model card (Markdown) out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SET_NAMES: Final[Mapping[str, str]] = {
    "wikiqa": "WikiQA",
    "trecqa": "TrecQA",
    "trecqa (tokens)": "TrecQA, Penn tokens as in its files",
    "semeval2015": "SemEval-2015",
    "semeval2016": "SemEval-2016",
    "semeval2017": "SemEval-2017",
    "insuranceqa": "InsuranceQA (150 questions, 19 wrong answers each)",
    "hard": "our hard questions, check half",
    "plain-hard": "our plainer hard questions, check half",
}
ABOUT: Final = """\
# The bundled ranker

Gives a question and a candidate answer a score: the chance that the candidate answers the question. Made for ranking
the sentences, passages or comments that a search has found; English; runs on onnxruntime without PyTorch.

* Architecture: BERT cross-encoder, 6 layers of width 384 (all-MiniLM-L6-v2, Apache-2.0), one logit from the mean of
  all tokens and the agreement of both sides; 8-bit products{exit}.
* Training: a cross-encoder on all-mpnet-base-v2 (Apache-2.0) learnt the labels of all that follows; what it says, the
  untouched encoder's cosine and the labels then taught this model. Sentences and whole passages of SQuAD 1.1 (part of
  train, dev), SQuAD 2.0 dev, SQuADShifts (new Wikipedia, Amazon), Quoref dev and BoolQ (CC BY-SA 4.0 and 3.0, CC BY
  4.0), among them made-up sentences that share words but lack the answer; the training parts of WikiQA (Microsoft
  Research Data License), TrecQA (train-all; no licence named), SemEval-2016 (train part 2; free for research) and
  InsuranceQA (free for research); lists written for it; questions of these with near sentences of all the others, which
  only the larger model has judged. At last it taught itself, with a share of the cosine: questions of TREC (Li and
  Roth; no licence named) with near sentences of TrecQA, which nobody has judged, and some of all the rest.
* No question and no candidate of a dev or test part was learnt, but for InsuranceQA's wrong answers, which all its
  parts draw from one pool: what the audit took out of each stage's lists is in `metrics.json`.
* Made by `make model` from the encoders, the data and seed 0.
* Intended use: putting candidates in order, and saying "none of these" below a score of your choice
  (`Ranking.best(min_score=…)`).
* Limits: English only; reads {max_tokens} word pieces of question and candidate together (the rest is cut and counted,
  or read in windows); does not know whether a statement is true; shared words still count for much, see the hard
  questions; a text that says the question's words over and over can stand before a short right answer.
"""
NOTE: Final = """\
Ties count as a draw of lots. Cosine: the untouched encoder's; the plainer hard questions were written until it got
about a third of them, so that its figure there is by design.
"""


def _exit(record: Mapping[str, Any]) -> str:
    if not record.get("chosen"):
        return ""
    layer, share = record["layer"], record["chosen"]
    return f"; candidates without hope leave behind layer {layer} ({share:.0%} of the short ones in the dev parts)"


def write_card(metrics: Mapping[str, Any]) -> str:
    """Return the model card's text."""
    parts = [
        ABOUT.format(
            max_tokens=metrics["max_tokens"], exit=_exit(metrics.get("finished_exit") or metrics.get("exit", {}))
        ),
        "## Figures on test parts\n",
        set_table(metrics["sets"]),
        _leave_out_table(metrics.get("leave_out", {})),
        _type_table(metrics["answer_types"]),
        _calibration(metrics["finish"]),
        f"sha256 of `model.onnx`: `{metrics['sha256']}`, {metrics['bytes'] / 1e6:.1f} MB.\n",
    ]
    return "\n".join(part for part in parts if part)


def set_table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of figures set by set, and what it counts."""
    rows = ["| set | protocol | questions | measure | model | BM25 | cosine |", "|---|---|---|---|---|---|---|"]
    rows += [
        f"| {SET_NAMES.get(name, name)} | {row['protocol']} | {row['questions']} | {row['measure']} "
        f"| **{row['model']:.4f}** | {row['bm25']:.4f} | {row['cosine']:.4f} |"
        for name, row in sets.items()
    ]
    rows += ["", *NOTE.splitlines(), ""]
    return "\n".join(rows)


def _leave_out_table(left_out: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    if not left_out:
        return ""
    rows = [
        "## On what it has never seen",
        "",
        "Models that never saw any text of a set, measured there: they begin at the encoder's cosine and gently learn",
        "an eighth of the lists of all other sources, by their labels and the cosine, without the larger model, which",
        "knows all sets; how much of the untouched encoder stays is chosen by the sets they know. Not in 8 bits.",
        "",
        "| set | measure | model that never saw it | BM25 | cosine |",
        "|---|---|---|---|---|",
    ]
    rows += [
        f"| {SET_NAMES.get(name, name)} | {row['measure']} | **{row['model']:.4f}** "
        f"| {row['bm25']:.4f} | {row['cosine']:.4f} |"
        for sets in left_out.values()
        for name, row in sets.items()
    ]
    return "\n".join([*rows, ""])


def _type_table(types: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    rows = ["## By expected answer type", "", "| set | type | questions | MAP |", "|---|---|---|---|"]
    rows += [
        f"| {SET_NAMES.get(name, name)} | {kind} | {figures['questions']} | {figures['MAP']:.4f} |"
        for name, kinds in types.items()
        for kind, figures in kinds.items()
    ]
    return "\n".join([*rows, ""])


def _calibration(finish: Mapping[str, Any]) -> str:
    drift = finish["drift"]
    rows = [
        "## What scores promise",
        "",
        f"Fitted on the dev parts (temperature {finish['temperature']:.3f}, bias {finish['bias']:.3f}); expected "
        f"calibration error there {finish['calibration_error']:.4f}.",
        "",
        "![Reliability diagram](reliability.svg)",
        "",
        "| mean score | share right | candidates |",
        "|---|---|---|",
    ]
    rows += [f"| {each['mean_score']:.3f} | {each['share_correct']:.3f} | {each['count']} |" for each in finish["bins"]]
    rows += [
        "",
        f"8 bits against 32 on the dev parts: MAP {drift['map_exported']:.4f} against {drift['map_original']:.4f}, "
        f"Kendall's τ {drift['kendall_tau']:.4f}.",
        "",
    ]
    return "\n".join(rows)
