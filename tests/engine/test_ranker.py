from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from anselect.engine.folder import MODEL, TOKENIZER, read_manifest, write_engine
from anselect.engine.ranker import EngineRanker, load_engine
from anselect.engine.score_cache import ScoreCache
from anselect.errors import DataError, UsageError
from anselect.modeling.rankers import load_ranker
from anselect.records import Candidate, Question
from anselect.selector import AnswerSelector
from anselect.text.highlight import special_tokens
from tests.training.tiny import WORDS, learnable_questions

TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=20).map(" ".join)


def asked(text: str, *candidates: str) -> Question:
    return Question("q", text, tuple(Candidate(str(place), each) for place, each in enumerate(candidates)))


@pytest.fixture(scope="module")
def int8(made: Path) -> EngineRanker:
    return load_engine(made / "int8", threads=2)


@pytest.fixture(scope="module")
def fp32(made: Path) -> EngineRanker:
    return load_engine(made / "fp32", threads=1)


def test_scores_in_32_bits_are_the_model_s(made: Path, fp32: EngineRanker) -> None:
    questions = learnable_questions(20, seed=3)
    expected, found = load_ranker(made / "model").score(questions), fp32.score(questions)
    for ours, theirs in zip(found.scores, expected.scores, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
        assert np.argsort(ours, kind="stable").tolist() == np.argsort(theirs, kind="stable").tolist()
    assert all(isinstance(score, float) and 0 < score < 1 for scores in found.scores for score in scores)


def test_scores_in_8_bits_are_near(int8: EngineRanker, fp32: EngineRanker) -> None:
    questions = learnable_questions(20, seed=3)
    for near, exact in zip(int8.score(questions).scores, fp32.score(questions).scores, strict=True):
        assert near == pytest.approx(exact, abs=0.05)


RANKERS = ["int8", "int8-mean", "int8-match", "int8-exit", "int8-match-exit", "int8-once", "int8-once-exit"]


@pytest.fixture(scope="module", params=RANKERS)
def rounded(request: pytest.FixtureRequest, made: Path) -> EngineRanker:
    return load_engine(made / str(request.param), threads=2)


@given(question=TEXT, candidates=st.lists(TEXT, min_size=1, max_size=12), data=st.data())
@settings(deadline=None, max_examples=40)
def test_company_and_order_do_not_change_a_bit_of_a_score(
    rounded: EngineRanker, question: str, candidates: list[str], data: st.DataObject
) -> None:
    alone = [rounded.score([asked(question, each)]).scores[0][0] for each in candidates]
    order = data.draw(st.permutations(range(len(candidates))))
    together = rounded.score(
        [asked("where is the clock", *candidates), asked(question, *(candidates[i] for i in order))]
    )
    assert together.scores[1] == [alone[place] for place in order]


@given(question=TEXT, candidates=st.lists(TEXT, min_size=2, max_size=12, unique=True), data=st.data())
@settings(deadline=None, max_examples=40)
def test_order_does_not_change_the_ranking_in_32_bits(
    fp32: EngineRanker, question: str, candidates: list[str], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(candidates))))
    straight = fp32.score([asked(question, *candidates)]).scores[0]
    mixed = fp32.score([asked(question, *(candidates[place] for place in order))]).scores[0]
    assert mixed == pytest.approx([straight[place] for place in order], abs=1e-6)


def test_equal_pairs_are_scored_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = load_engine(made / "int8", threads=1)
    rows = 0
    run = engine._session.run

    def counted(inputs: dict[str, Any]) -> Any:
        nonlocal rows
        rows += len(inputs["ids"])
        return run(inputs)

    monkeypatch.setattr(engine._session, "run", counted)
    scores = engine.score([asked("who", "bell", "rome", "bell"), asked("who", "bell")]).scores
    assert rows == 2
    assert scores[0][0] == scores[0][2] == scores[1][0] != scores[0][1]


@pytest.mark.parametrize("fails", ["caller", "helper"])
def test_an_error_in_any_thread_reaches_the_caller(made: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    engine = load_engine(made / "int8", threads=2)
    run, both_at_work, caller = engine._session.run, threading.Barrier(2, timeout=60), threading.get_ident()
    done: list[int] = []

    def failing(inputs: dict[str, Any]) -> Any:
        if not done:  # Each thread has taken one batch.
            both_at_work.wait()
        if (threading.get_ident() == caller) == (fails == "caller"):
            raise RuntimeError("no memory")
        done.append(len(inputs["ids"]))
        return run(inputs)

    monkeypatch.setattr(engine._session, "run", failing)
    with pytest.raises(RuntimeError, match="no memory"):
        engine.score([asked("who", *(" ".join(["bell"] * length) for length in range(1, 20)))])


def test_long_candidate_is_cut_or_read_in_windows(made: Path) -> None:
    text = "the lamp is red " * 10 + "bell made the radio"
    cut, windows = load_engine(made / "int8"), load_engine(made / "int8", long="windows")
    question = asked("who made the radio", text, "rome")
    assert cut.score([question]).cut_candidates == 1
    found = windows.score([question])
    assert found.cut_candidates == 0
    words = text.split()
    pieces = [" ".join(words[start : start + 25]) for start in [*range(0, len(words) - 25, 12), len(words) - 25]]
    best = max(windows.score([asked("who made the radio", *pieces)]).scores[0])
    assert found.scores[0] == [best, cut.score([question]).scores[0][1]]


def test_huge_texts_and_many_candidates_are_scored(int8: EngineRanker) -> None:
    question = asked(
        "who " * 50_000, "bell " * 2_000_000, "", *(f"{word} {other}" for word in WORDS for other in WORDS)
    )
    found = int8.score([question, asked("who", "bell")])
    assert len(found.scores[0]) == 2 + len(WORDS) ** 2
    assert all(math.isfinite(score) for score in found.scores[0])
    assert found.cut_candidates == len(found.scores[0])


def test_nothing_to_score_gives_nothing(int8: EngineRanker) -> None:
    assert int8.score([]).scores == []
    assert int8.score([asked("who"), asked("where")]).scores == [[], []]


def test_selector_ranks_with_it(int8: EngineRanker) -> None:
    ranking = AnswerSelector(int8).rank("who made the radio", ["rome", "bell made the radio", "rome"])
    assert [each.index for each in ranking if each.text == "rome"] == [0, 2]
    assert int8.description.startswith("engine engines")


def test_calibration_of_the_manifest_is_applied(made: Path, tmp_path: Path, int8: EngineRanker) -> None:
    files = {name: (made / "int8" / name).read_bytes() for name in (MODEL, TOKENIZER)}
    write_engine(tmp_path / "e", files, replace(read_manifest(made / "int8"), temperature=2.0, bias=0.5))
    question = asked("who made the radio", "bell made the radio")
    (logit,) = int8.logits([("who made the radio", "bell made the radio")])
    assert load_engine(tmp_path / "e").score([question]).scores[0][0] == pytest.approx(
        1 / (1 + math.exp(-(logit / 2 + 0.5))), abs=1e-12
    )


def test_text_steps_of_the_manifest_are_applied(made: Path, tmp_path: Path, int8: EngineRanker) -> None:
    files = {name: (made / "int8" / name).read_bytes() for name in (MODEL, TOKENIZER)}
    about = replace(read_manifest(made / "int8"), text_steps={"lower_case": True})
    write_engine(tmp_path / "e", files, about)
    assert load_engine(tmp_path / "e").score([asked("WHO", "Bell")]) == int8.score([asked("who", "bell")])
    write_engine(tmp_path / "e", files, replace(about, text_steps={"new_step": 1}))
    with pytest.raises(DataError, match="expected known text steps"):
        load_engine(tmp_path / "e")


@pytest.mark.parametrize("trained_on", ["none", "replace", "replace-typed", "mark"])
@pytest.mark.parametrize("steps", ["none", "replace", "mark", "blink"])
def test_highlighting_must_be_that_of_the_tokenizer(made: Path, tmp_path: Path, trained_on: str, steps: str) -> None:
    tokenizer = Tokenizer.from_file(str(made / "int8" / TOKENIZER))
    if trained_on != "none":
        tokenizer.add_tokens([AddedToken(token, normalized=False) for token in special_tokens(trained_on)])
    files = {MODEL: (made / "int8" / MODEL).read_bytes(), TOKENIZER: tokenizer.to_str().encode()}
    write_engine(tmp_path / "e", files, replace(read_manifest(made / "int8"), text_steps={"highlight": steps}))
    if steps == trained_on:
        assert load_engine(tmp_path / "e").steps.highlight == steps
        return
    message = f"trained on highlighting '{trained_on}', its text steps say '{steps}': export the model again"
    with pytest.raises(DataError, match=rf"^[^\n]*manifest.json: {message}"):
        load_engine(tmp_path / "e")


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_cache_serves_repeats_with_the_same_scores(made: Path, tmp_path: Path, is_on_disk: bool) -> None:
    cache = tmp_path if is_on_disk else ScoreCache()
    questions = [asked("who made the radio", "bell made the radio", "rome " * 100), asked("where", "rome")]
    first = load_engine(made / "int8", cache=cache).score(questions)
    again = load_engine(made / "int8", cache=cache)
    again._session = None  # type: ignore[assignment]  # whoever computes now fails
    assert again.score(questions) == first == load_engine(made / "int8").score(questions)
    assert first.cut_candidates == 1


def test_model_file_that_is_no_model_is_refused(made: Path, tmp_path: Path) -> None:
    tokenizer = (made / "int8" / TOKENIZER).read_bytes()
    write_engine(tmp_path / "e", {MODEL: b"no model", TOKENIZER: tokenizer}, read_manifest(made / "int8"))
    with pytest.raises(DataError, match="expected a model that can be loaded") as error:
        load_engine(tmp_path / "e")
    assert "\n" not in str(error.value)


def test_unknown_options_are_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("int8")
    with pytest.raises(UsageError, match="unknown way with long candidates 'fold'"):
        load_engine(folder, long="fold")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected one thread or more, got 0"):
        load_engine(folder, threads=0)


def test_engine_runs_without_torch(made: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from anselect.engine.ranker import load_engine\n"
        "from anselect.records import Candidate, Question\n"
        f"engine = load_engine(Path({str(made / 'int8')!r}))\n"
        "print(len(engine.score([Question('q', 'who', (Candidate('a', 'bell'),))]).scores))\n"
        "print([name for name in ('torch', 'transformers', 'onnx', 'scipy', 'spacy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["1", "[]"]
