from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification  # noqa: E402

from anselect.data.protocols import PROTOCOLS  # noqa: E402
from anselect.engine.ranker import load_engine  # noqa: E402
from anselect.errors import AnselectError, MissingFileError, UsageError  # noqa: E402
from anselect.modeling.cross_encoder import AnswerSelectionModel  # noqa: E402
from anselect.modeling.rankers import CrossEncoderRanker  # noqa: E402
from anselect.training.engine_export import Calibration, export_engine  # noqa: E402
from anselect.training.engine_export_drift import Drift  # noqa: E402
from anselect.training.engine_export_source import load_source  # noqa: E402
from tests.training.tiny import add_exit, learnable_questions, save_tiny_bert  # noqa: E402

QUESTIONS = learnable_questions(8)
CALIBRATION = Calibration("tiny", QUESTIONS, QUESTIONS, PROTOCOLS["answerable"])


def save_ours(folder: Path, **settings: Any) -> CrossEncoderRanker:
    model, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(folder / "bert"), max_tokens=32, **settings)
    model.eval()  # type: ignore[no-untyped-call]
    ranker = CrossEncoderRanker(model, tokenizer)
    ranker.save(folder / "model")
    return ranker


def save_classifier(bert: str, folder: Path, labels: int) -> None:
    config = BertConfig.from_pretrained(bert, num_labels=labels)
    BertForSequenceClassification(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    AutoTokenizer.from_pretrained(bert).save_pretrained(folder)


@pytest.mark.parametrize(
    ("head", "pooling"),
    [
        ("linear", "class"),
        ("linear", "mean"),
        ("linear", "pooler"),
        ("fc", "class"),
        ("sigmoid", "class"),
        ("rnn", "class"),
        ("match", "class"),
        ("match", "mean"),
    ],
)
def test_scores_in_32_bits_are_the_original_s(tmp_path: Path, head: str, pooling: str) -> None:
    ranker = save_ours(tmp_path, head=head, pooling=pooling)
    report = export_engine(load_source(tmp_path), tmp_path / "out", precision="fp32", calibration=CALIBRATION)
    assert report.drift is not None
    assert report.drift.map_original == report.drift.map_exported
    found = load_engine(tmp_path / "out").score(QUESTIONS).scores
    for ours, theirs in zip(found, ranker.score(QUESTIONS).scores, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("labels", [1, 2])
def test_hub_classifier_is_exported(tmp_path: Path, labels: int) -> None:
    bert = save_tiny_bert(tmp_path / "bert")
    save_classifier(bert, tmp_path / "hub", labels)
    report = export_engine(load_source(tmp_path / "hub"), tmp_path / "out", precision="fp32")
    assert (report.drift, report.largest_difference < 1e-4) == (None, True)


def test_hub_classifier_with_three_classes_is_refused(tmp_path: Path) -> None:
    bert = save_tiny_bert(tmp_path / "bert")
    save_classifier(bert, tmp_path / "hub", 3)
    with pytest.raises(UsageError, match="expected a model with one or two classes, got 3"):
        load_source(tmp_path / "hub")


@pytest.mark.parametrize("head", ["linear", "sigmoid", "fc", "match"])
def test_pairs_that_leave_early_keep_their_first_guess(tmp_path: Path, head: str) -> None:
    ranker = save_ours(tmp_path, head=head, pooling="mean")
    whole = ranker.score(QUESTIONS).scores
    add_exit(ranker, QUESTIONS)
    expected = ranker.score(QUESTIONS).scores
    pairs = [pair for rows in zip(whole, expected, strict=True) for pair in zip(*rows, strict=True)]
    assert 0 < sum(before != after for before, after in pairs) < len(pairs)
    ranker.save(tmp_path / "exit")
    export_engine(load_source(tmp_path / "exit"), tmp_path / "out", precision="fp32")
    for ours, theirs in zip(load_engine(tmp_path / "out").score(QUESTIONS).scores, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "class"])
@pytest.mark.parametrize("leaves", [False, True])
def test_questions_that_are_read_once_give_the_original_s_scores(tmp_path: Path, pooling: str, leaves: bool) -> None:
    ranker = save_ours(tmp_path, head="sigmoid", pooling=pooling, question_layers=1)
    with torch.no_grad():  # tokens of a new model hardly look at each other
        for weight in ranker.model.encoder.parameters():
            weight.mul_(10 if weight.dim() == 2 else 1)
    if leaves:
        add_exit(ranker, QUESTIONS)
    ranker.save(tmp_path / "own")
    export_engine(load_source(tmp_path / "own"), tmp_path / "out", precision="fp32", calibration=CALIBRATION)
    engine = load_engine(tmp_path / "out")
    expected = ranker.score(QUESTIONS).scores
    for ours, theirs in zip(engine.score(QUESTIONS).scores, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    ranker.model.config.question_layers = 0
    differences = [
        abs(before - after)
        for rows in zip(expected, ranker.score(QUESTIONS).scores, strict=True)
        for before, after in zip(*rows, strict=True)
    ]
    assert max(differences) > 1e-3  # else nothing would have been tested


def test_exit_among_layers_that_read_questions_alone_is_refused(tmp_path: Path) -> None:
    ranker = save_ours(tmp_path, head="sigmoid", pooling="mean", question_layers=2)
    add_exit(ranker, QUESTIONS)
    ranker.save(tmp_path / "own")
    with pytest.raises(UsageError, match="expected an exit behind the 2 layers"):
        export_engine(load_source(tmp_path / "own"), tmp_path / "out", precision="fp32", calibration=CALIBRATION)


@pytest.mark.parametrize("head", ["match", "sigmoid"])
@pytest.mark.parametrize("leaves", [False, True])
def test_sides_that_began_apart_keep_the_original_s_scores(tmp_path: Path, head: str, leaves: bool) -> None:
    ranker = save_ours(tmp_path, head=head, pooling="mean", sides_apart=2.0)
    with torch.no_grad():
        for weight in ranker.model.encoder.parameters():
            weight.mul_(10 if weight.dim() == 2 else 1)
        ranker.model.cross_attention.lowered.uniform_(0.0, 0.1)
    if leaves:
        add_exit(ranker, QUESTIONS)
    ranker.save(tmp_path / "own")
    export_engine(load_source(tmp_path / "own"), tmp_path / "out", precision="fp32", calibration=CALIBRATION)
    expected = ranker.score(QUESTIONS).scores
    for ours, theirs in zip(load_engine(tmp_path / "out").score(QUESTIONS).scores, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    with torch.no_grad():
        ranker.model.cross_attention.lowered.zero_()
    moved = zip(expected, ranker.score(QUESTIONS).scores, strict=True)
    assert max(abs(a - b) for rows in moved for a, b in zip(*rows, strict=True)) > 3e-4  # else nothing was tested


def test_sides_that_began_apart_score_alike_in_any_company(tmp_path: Path) -> None:
    ranker = save_ours(tmp_path, head="match", pooling="mean", sides_apart=2.0)
    ranker.save(tmp_path / "own")
    export_engine(load_source(tmp_path / "own"), tmp_path / "out", calibration=CALIBRATION, max_drift=1.0)
    engine = load_engine(tmp_path / "out")
    together = engine.score(QUESTIONS).scores
    assert [engine.score([question]).scores[0] for question in QUESTIONS] == together
    alone = [[engine.score([replace(q, candidates=(c,))]).scores[0][0] for c in q.candidates] for q in QUESTIONS]
    assert alone == [list(own) for own in together]


def test_only_short_pairs_leave(tmp_path: Path) -> None:
    ranker = save_ours(tmp_path, head="sigmoid", pooling="mean")
    whole = ranker.score(QUESTIONS).scores
    ranker.model.add_exit(1)
    ranker.model.config.exit_below = float("inf")
    everyone = ranker.score(QUESTIONS).scores
    lengths = [
        [len(ranker.tokenizer(question.text, candidate.text)["input_ids"]) for candidate in question.candidates]
        for question in QUESTIONS
    ]
    ranker.model.config.exit_tokens = sorted(length for own in lengths for length in own)[len(lengths)]
    expected = [
        [
            guess if length <= ranker.model.config.exit_tokens else full
            for full, guess, length in zip(*rows, strict=True)
        ]
        for rows in zip(whole, everyone, lengths, strict=True)
    ]
    assert whole != expected != everyone
    ranker.save(tmp_path / "own")
    export_engine(load_source(tmp_path / "own"), tmp_path / "out", precision="fp32")
    found = load_engine(tmp_path / "out").score(QUESTIONS).scores
    for torch_s, ours, theirs in zip(ranker.score(QUESTIONS).scores, found, expected, strict=True):
        assert torch_s == pytest.approx(theirs, abs=1e-6)
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_8_bits_need_questions_and_a_known_graph(tmp_path: Path) -> None:
    save_ours(tmp_path, head="bow")
    source = load_source(tmp_path)
    with pytest.raises(UsageError, match="give --data NAME or --calibration FILE"):
        export_engine(source, tmp_path / "out")
    with pytest.raises(UsageError, match="use --precision fp32"):
        export_engine(source, tmp_path / "out", calibration=CALIBRATION)
    assert not (tmp_path / "out").exists()


def test_export_that_ranks_worse_is_refused_and_not_written(tmp_path: Path) -> None:
    save_ours(tmp_path)
    with pytest.raises(AnselectError, match="nothing was written"):
        export_engine(load_source(tmp_path), tmp_path / "out", calibration=CALIBRATION, max_drift=-1.0)
    assert not (tmp_path / "out").exists()


def test_drift_beyond_the_limit_is_refused() -> None:
    drift = Drift("x dev", "answerable", 10, 0.80, 0.79, 0.9, 0.1)
    with pytest.raises(AnselectError, match=r"fell from 0\.8000 to 0\.7900, more than --max-drift 0\.003"):
        drift.require(0.003)
    replace(drift, map_exported=0.81).require(0.0)


def test_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such run or model folder"):
        load_source(tmp_path / "none")
    with pytest.raises(MissingFileError, match="got neither"):
        load_source(tmp_path)
