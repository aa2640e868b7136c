from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anselect.errors import UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.export import export_classifier
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.scoring import score_pairs
from tests.training.tiny import learnable_questions, save_tiny_bert

PAIRS = [(question.text, candidate.text) for question in learnable_questions(12) for candidate in question.candidates]


def tiny_ranker(tmp_path: Path, **settings: Any) -> CrossEncoderRanker:
    model, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32, **settings)
    model.eval()  # type: ignore[no-untyped-call]
    return CrossEncoderRanker(model, tokenizer)


@pytest.mark.parametrize("head", ["linear", "sigmoid"])
def test_folder_loads_in_sentence_transformers_with_the_same_scores(tmp_path: Path, head: str) -> None:
    library = pytest.importorskip("sentence_transformers")
    ranker = tiny_ranker(tmp_path, head=head)
    difference = export_classifier(ranker, tmp_path / "out", samples=PAIRS[:5])
    assert difference < 1e-5
    theirs = library.CrossEncoder(str(tmp_path / "out"), device="cpu").predict(PAIRS, show_progress_bar=False)
    ours = score_pairs(ranker.model, ranker.tokenizer, [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]).scores
    assert theirs.tolist() == pytest.approx(ours, abs=1e-5)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["id2label"] == {"0": "LABEL_0"}


@pytest.mark.parametrize("head", ["fc", "bow", "cnn", "rnn"])
def test_head_that_cannot_be_folded_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(UsageError, match=f"expected a linear and sigmoid head, got '{head}'"):
        export_classifier(tiny_ranker(tmp_path, head=head), tmp_path / "out", samples=PAIRS[:1])
    assert not (tmp_path / "out").exists()


def test_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="expected an empty or new folder"):
        export_classifier(tiny_ranker(tmp_path), tmp_path / "out", samples=PAIRS[:1])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
