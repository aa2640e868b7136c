"""The bundled answer-type detector: what it says, and that nothing typed by a user breaks it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.errors import DataError, HashMismatchError, MissingFileError, UsageError
from anselect.text.answer_type import (
    BUNDLED,
    COARSE_TYPES,
    FINE_TYPES,
    AnswerType,
    AnswerTypeModel,
    decide,
    detect_answer_type,
    detect_answer_types,
)

CHECK_SET = Path(__file__).parent / "modern_questions.tsv"
LARGEST_DISK_USE = 15_000_000


def read_check_set() -> list[tuple[str, list[str]]]:
    lines = CHECK_SET.read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return [(question, fine.split("|")) for question, fine in cells]


@pytest.mark.parametrize(
    ("question", "coarse"),
    [
        ("Who is the telephone inventor?", "HUM"),
        ("who's the ceo of nvidia", "HUM"),
        ("Name the inventor of the light bulb.", "HUM"),
        ("CAN YOU TELL ME WHO DIRECTED JAWS", "HUM"),
        ("who wrote harry poter", "HUM"),
        ("how do i reset my iphone", "DESC"),
        ("Why is the sky blue?", "DESC"),
        ("What is a caldera ?", "DESC"),
        ("best time to visit japan", "NUM"),
        ("how tall is the eiffel tower", "NUM"),
        ("wehn did world war 2 end", "NUM"),
        ("Where is the Louvre ?", "LOC"),
        ("whats the capital of australia", "LOC"),
        ("What 's the capital of Monaco ?", "LOC"),
        ("what does API stand for", "ABBR"),
        ("What is the abbreviation for Original Equipment Manufacturer?", "ABBR"),
        ("What color is a ruby?", "ENTY"),
        ("Name a movie with Tom Hanks", "ENTY"),
    ],
)
def test_coarse_type_of_plain_questions(question: str, coarse: str) -> None:
    assert detect_answer_type(question).coarse == coarse


@pytest.mark.parametrize(
    ("question", "fine"),
    [
        ("who is Ada Lovelace", "HUM:desc"),
        ("What does NASA stand for?", "ABBR:exp"),
        ("how old is bono", "NUM:period"),
        ("how much does a laptop cost", "NUM:money"),
        ("What country has the most islands?", "LOC:country"),
        ("What language is spoken in Brazil?", "ENTY:lang"),
    ],
)
def test_fine_type_of_plain_questions(question: str, fine: str) -> None:
    assert detect_answer_type(question).fine == fine


def test_modern_check_set_is_mostly_right() -> None:
    rows = read_check_set()
    found = list(detect_answer_types(question for question, _ in rows))
    coarse = [
        one.coarse in {fine[: len(one.coarse)] for fine in right} for one, (_, right) in zip(found, rows, strict=True)
    ]
    assert len(rows) >= 100
    assert {fine for _, right in rows for fine in right} <= set(FINE_TYPES)
    assert np.mean(coarse) >= 0.9


def test_types_are_six_and_fifty() -> None:
    assert COARSE_TYPES == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert len(set(FINE_TYPES)) == 50
    assert {fine.partition(":")[0] for fine in FINE_TYPES} == set(COARSE_TYPES)


def test_decide_sums_fine_types_before_choosing() -> None:
    probabilities = np.zeros(50, dtype=np.float32)
    for fine, value in {"HUM:ind": 0.4, "LOC:city": 0.3, "LOC:country": 0.25, "NUM:date": 0.05}.items():
        probabilities[FINE_TYPES.index(fine)] = value
    found = decide(probabilities)
    assert (found.coarse, found.fine) == ("LOC", "LOC:city")
    assert found.confidence == pytest.approx(0.55)
    assert found.coarse_probabilities["HUM"] == pytest.approx(0.4)


@pytest.mark.parametrize("text", ["", "   ", "?", "?!…—", "\n\t", "🙂🙂🙂", "\u200f", "\ud800"])
def test_text_without_words_gives_desc_without_conviction(text: str) -> None:
    found = detect_answer_type(text)
    assert (found.coarse, found.fine) == ("DESC", "DESC:desc")
    assert found.confidence == pytest.approx(1 / 6)
    assert list(found.coarse_probabilities.values()) == pytest.approx([1 / 6] * 6)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "what " * 20_000,
        "Who wrote Hamlet? 🎭🎭",
        "מי המציא את הטלפון?",
        "من اخترع الهاتف؟",
        "谁发明了电话？",
        "Who is \ud83d the president?",
        "null\0byte who",
        "I like trains.",
    ],
)
def test_strange_text_gives_a_sound_answer(text: str) -> None:
    check_sound(detect_answer_type(text))


def test_long_text_is_read_at_both_ends() -> None:
    filler = "It was a long and winding story about nothing in particular. " * 2000
    assert detect_answer_type(f"{filler} So tell me, who invented the telephone?").coarse == "HUM"
    assert detect_answer_type(f"Who invented the telephone? {filler}").coarse == "HUM"


@pytest.mark.parametrize("value", [None, b"who?", 7, ["who?"]])
def test_what_is_not_a_string_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected question 0 as text, got \w+(: decode them first)?$"):
        detect_answer_type(value)


@pytest.mark.parametrize("value", [None, "who?", b"who?"])
def test_what_is_no_list_of_questions_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected a list of questions, got"):
        list(detect_answer_types(value))


def test_many_questions_keep_their_order_and_equal_single_ones() -> None:
    texts = [question for question, _ in read_check_set()] * 12 + ["", "who?"]
    together = list(detect_answer_types(texts))
    assert len(together) == len(texts) > 1024
    for place in (0, 1, 50, 103, 104, 1023, 1024, len(texts) - 2, len(texts) - 1):
        alone = detect_answer_type(texts[place])
        assert together[place].fine == alone.fine
        np.testing.assert_allclose(
            list(together[place].probabilities.values()), list(alone.probabilities.values()), atol=1e-6
        )


def test_same_question_gives_the_same_numbers() -> None:
    first, second = (detect_answer_type("Where do penguins live?") for _ in range(2))
    assert first == second


def test_input_is_read_in_bounded_pieces() -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "who?"

    assert next(detect_answer_types(endless())).coarse == "HUM"
    assert taken <= 1024


def test_threads_share_the_model() -> None:
    texts = [question for question, _ in read_check_set()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(detect_answer_type, texts))
    assert [one.fine for one in found] == [one.fine for one in detect_answer_types(texts)]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_a_sound_answer(text: str) -> None:
    check_sound(detect_answer_type(text))


def test_model_folder_fits_the_package() -> None:
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) <= LARGEST_DISK_USE


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_changed_model_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(BUNDLED, tmp_path / "model"))
    with (folder / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(HashMismatchError, match=f"{name}: expected sha256 "):
        AnswerTypeModel(folder)


def test_missing_model_file_is_named(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(BUNDLED, tmp_path / "model"))
    (folder / "model.onnx").unlink()
    with pytest.raises(MissingFileError, match=r"model\.onnx: no such file"):
        AnswerTypeModel(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "expected JSON"), ("[]", "expected a JSON object"), ("{}", "sha256 of both"), ('{"sha256": 1}', "of both")],
)
def test_damaged_manifest_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    folder = Path(shutil.copytree(BUNDLED, tmp_path / "model"))
    (folder / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=rf"^[^\n]*manifest.json: [^\n]*{message}[^\n]*: install the package again$"):
        AnswerTypeModel(folder)


def test_detection_needs_no_heavy_package() -> None:
    code = (
        "import sys; from anselect.text.answer_type import detect_answer_type; detect_answer_type('who?');"
        "print([name for name in ('torch', 'transformers', 'spacy', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_figures_on_the_real_test_questions(benchmark_data: Path) -> None:
    metrics = json.loads((BUNDLED / "metrics.json").read_text(encoding="utf-8"))
    rows = [line.split("\t") for line in (benchmark_data / "trec-qc" / "test.tsv").read_text("utf-8").splitlines()[1:]]
    found = list(detect_answer_types(row[1] for row in rows))
    coarse = np.mean([one.coarse == row[2] for one, row in zip(found, rows, strict=True)])
    fine = np.mean([one.fine == row[3] for one, row in zip(found, rows, strict=True)])
    assert coarse == pytest.approx(metrics["trec_10"]["coarse"], abs=0.004)
    assert fine == pytest.approx(metrics["trec_10"]["fine"], abs=0.004)


def check_sound(found: AnswerType) -> None:
    assert found.coarse in COARSE_TYPES
    assert found.fine in FINE_TYPES
    assert found.fine.startswith(found.coarse)
    assert 0 < found.confidence <= 1
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.confidence == pytest.approx(found.coarse_probabilities[found.coarse])
