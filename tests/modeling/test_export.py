from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel

from anselect.data.locate import read_split
from anselect.errors import AnselectError, DataError, UsageError
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.modeling.encoders import load_tokenizer
from anselect.modeling.export import export_classifier
from anselect.modeling.rankers import CrossEncoderRanker
from anselect.modeling.scoring import score_pairs
from anselect.modeling.selector_ranker import load_model_ranker
from anselect.modeling.weights_packages import find_weights, weights_package
from anselect.records import Candidate, Question
from tests.training.tiny import learnable_questions, save_tiny_bert

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PAIRS = [(question.text, candidate.text) for question in learnable_questions(12) for candidate in question.candidates]
LONG = ("who made the radio", "the old clock is a red bell " * 20)
FORGED = ("who made the radio", "bell [SEP] made [CLS] the radio [PAD]")
EMPTY = ("who made the radio", "")


def tiny_ranker(tmp_path: Path, **settings: Any) -> CrossEncoderRanker:
    model, tokenizer = AnswerSelectionModel.from_encoder(save_tiny_bert(tmp_path / "bert"), max_tokens=32, **settings)
    return CrossEncoderRanker(spread(model), tokenizer)


def spread(model: AnswerSelectionModel) -> AnswerSelectionModel:
    """Draw weights that give scores all over (0, 1): a new encoder's class token is the same for every pair."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.1 if name.startswith("head.") else 0.3)
    model.eval()  # type: ignore[no-untyped-call]
    return model


def our_scores(ranker: CrossEncoderRanker, pairs: list[tuple[str, str]]) -> list[float]:
    return score_pairs(ranker.model, ranker.tokenizer, [pair[0] for pair in pairs], [pair[1] for pair in pairs]).scores


def their_scores(folder: Path, pairs: list[tuple[str, str]]) -> list[float]:
    model = pytest.importorskip("sentence_transformers").CrossEncoder(str(folder), device="cpu")
    scores: list[float] = model.predict(pairs, show_progress_bar=False).tolist()
    return scores


@pytest.mark.parametrize(
    ("head", "pooling", "is_modular"),
    [
        ("linear", "class", False),
        ("sigmoid", "class", False),
        ("linear", "pooler", False),
        ("linear", "mean", True),
        ("sigmoid", "mean", True),
        ("fc", "class", True),
        ("fc", "mean", True),
    ],
)
def test_folder_loads_in_sentence_transformers_with_the_same_scores(
    tmp_path: Path, head: str, pooling: str, is_modular: bool
) -> None:
    ranker = tiny_ranker(tmp_path, head=head, pooling=pooling)
    written = export_classifier(ranker, tmp_path / "out", samples=PAIRS[:5])
    assert written.is_modular == is_modular
    assert written.largest_difference < 1e-5
    pairs = [*PAIRS, LONG, FORGED, EMPTY]
    ours = our_scores(ranker, pairs)
    assert max(ours) - min(ours) > 0.05
    assert their_scores(tmp_path / "out", pairs) == pytest.approx(ours, abs=1e-5)


@pytest.mark.parametrize(("head", "pooling"), [("linear", "class"), ("linear", "mean"), ("fc", "mean")])
def test_folder_loads_in_anselect_with_the_same_scores(tmp_path: Path, head: str, pooling: str) -> None:
    ranker = tiny_ranker(tmp_path, head=head, pooling=pooling)
    export_classifier(ranker, tmp_path / "out", samples=PAIRS[:1])
    loaded = load_model_ranker(tmp_path / "out")
    candidates = tuple(Candidate(str(place), text, None) for place, (_, text) in enumerate([LONG, FORGED, EMPTY]))
    scored = loaded.score([Question("q", LONG[0], candidates)])
    assert scored.scores[0] == pytest.approx(our_scores(ranker, [LONG, FORGED, EMPTY]), abs=1e-5)
    assert (scored.max_tokens, scored.cut_candidates) == (32, 1)
    assert "one class" in loaded.description


@pytest.mark.parametrize("pooling", ["class", "mean"])
@pytest.mark.parametrize("name", ["roberta", "mpnet", "electra", "xlnet"])
def test_other_families_become_modules(
    families: dict[str, Any], save_encoder: Any, tmp_path: Path, name: str, pooling: str
) -> None:
    model, tokenizer = AnswerSelectionModel.from_encoder(save_encoder(families[name]()), max_tokens=32, pooling=pooling)
    ranker = CrossEncoderRanker(spread(model), tokenizer)
    pairs = [("who made it", "bell made the lamp"), ("who made it", "it is old"), LONG]
    assert export_classifier(ranker, tmp_path / "out", samples=pairs[:2]).is_modular
    assert their_scores(tmp_path / "out", pairs) == pytest.approx(our_scores(ranker, pairs), abs=1e-5)


def test_plain_classifier_has_one_label(tmp_path: Path) -> None:
    export_classifier(tiny_ranker(tmp_path), tmp_path / "out", samples=PAIRS[:1])
    assert json.loads((tmp_path / "out" / "config.json").read_text())["id2label"] == {"0": "LABEL_0"}
    assert not (tmp_path / "out" / "modules.json").exists()


def test_export_leaves_the_model_and_its_tokenizer_as_they_were(tmp_path: Path) -> None:
    ranker = tiny_ranker(tmp_path, pooling="mean")
    before = our_scores(ranker, PAIRS)
    limit, names = ranker.tokenizer.model_max_length, list(ranker.tokenizer.model_input_names)
    export_classifier(ranker, tmp_path / "out", samples=PAIRS[:1])
    assert our_scores(ranker, PAIRS) == before
    assert (ranker.tokenizer.model_max_length, ranker.tokenizer.model_input_names) == (limit, names)


def test_model_that_pairs_leave_early_is_refused(tmp_path: Path) -> None:
    ranker = tiny_ranker(tmp_path, pooling="mean")
    ranker.model.add_exit(1)
    ranker.model.config.exit_below = 0.0
    with pytest.raises(UsageError, match="pairs leave this model early"):
        export_classifier(ranker, tmp_path / "out", samples=PAIRS[:1])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("head", ["bow", "cnn", "rnn", "match"])
def test_head_that_reads_single_tokens_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(UsageError, match=f"expected a head of linear, sigmoid, fc, got '{head}'"):
        export_classifier(tiny_ranker(tmp_path, head=head), tmp_path / "out", samples=PAIRS[:1])
    assert not (tmp_path / "out").exists()


def test_hidden_layer_on_the_pooler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected pooling by class token or mean for 'fc' on 'bert', got 'pooler'"):
        export_classifier(tiny_ranker(tmp_path, head="fc", pooling="pooler"), tmp_path / "out", samples=PAIRS[:1])
    assert not (tmp_path / "out").exists()


def test_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="expected an empty or new folder"):
        export_classifier(tiny_ranker(tmp_path), tmp_path / "out", samples=PAIRS[:1])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_nothing_is_written_where_scores_differ(tmp_path: Path) -> None:
    ranker = tiny_ranker(tmp_path, pooling="mean")
    ranker.model.train()  # dropout makes the model's own scores differ from those of the folder
    with pytest.raises(AnselectError, match=r"the exported scores differ by .*: nothing was written"):
        export_classifier(ranker, tmp_path / "out", samples=PAIRS)
    assert [path.name for path in tmp_path.iterdir()] == ["bert"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("modules.json", '[{"type": "a.Transformer", "path": ""}, {"type": "a.Normalize", "path": "1"}]', "Normalize"),
        ("modules.json", "{", "expected a list of modules"),
        ("modules.json", '[{"type": "a.T", "path": ""}, {"type": "a.Pooling", "path": "../b"}]', "inside the folder"),
        ("config_sentence_transformers.json", "[]", "expected a JSON object, got list"),
        ("1_Pooling/config.json", '{"pooling_mode": "max"}', "expected a pooling of mean, cls, lasttoken, got max"),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}', "max_tokens"),
        ("2_Dense/config.json", '{"activation_function": "os.system"}', "expected a plain layer"),
        (
            "2_Dense/config.json",
            '{"activation_function": "torch.nn.modules.linear.Identity", "in_features": 5, "out_features": 1}',
            r"expected linear.weight of \[1, 5\], got \[1, 32\]",
        ),
        ("2_Dense/model.safetensors", "cut", "expected a cross-encoder that can be loaded"),
    ],
)
def test_damaged_chain_is_named_in_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    export_classifier(tiny_ranker(tmp_path, pooling="mean"), tmp_path / "out", samples=PAIRS[:1])
    (tmp_path / "out" / name).write_text(content)
    with pytest.raises(DataError, match=message) as raised:
        load_model_ranker(tmp_path / "out")
    assert "\n" not in str(raised.value)


def test_real_tokenizer_gives_the_same_order_on_wikiqa_test(tmp_path: Path, benchmark_data: Path) -> None:
    package = weights_package(MINILM)
    if package is None or find_weights(package) is None:
        pytest.skip("the weights package of all-MiniLM-L6-v2 is not installed")
    tokenizer = load_tokenizer(MINILM)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(tmp_path / "bert")  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(tmp_path / "bert")
    model, tokenizer = AnswerSelectionModel.from_encoder(str(tmp_path / "bert"), max_tokens=64, pooling="mean")
    ranker = CrossEncoderRanker(spread(model), tokenizer)
    export_classifier(ranker, tmp_path / "out", samples=PAIRS[:1])
    questions = [each for each in read_split("wikiqa", "test", data_dir=benchmark_data) if each.has_positive]
    pairs = [(question.text, candidate.text) for question in questions for candidate in question.candidates]
    assert (len(questions), len(pairs)) == (243, 2351)
    ours, theirs = our_scores(ranker, pairs), their_scores(tmp_path / "out", pairs)
    assert theirs == pytest.approx(ours, abs=1e-5)
    assert orders(questions, ours) == orders(questions, theirs)


def test_real_encoder_gives_the_same_scores(tmp_path: Path) -> None:
    package = weights_package(MINILM)
    if package is None or find_weights(package) is None:
        pytest.skip("the weights package of all-MiniLM-L6-v2 is not installed")
    model, tokenizer = AnswerSelectionModel.from_encoder(MINILM, pooling="mean")
    model.eval()  # type: ignore[no-untyped-call]
    ranker = CrossEncoderRanker(model, tokenizer)
    pairs = [("Who invented the telephone?", "Alexander Graham Bell did, in 1876."), ("who made it", "[SEP] It rings.")]
    export_classifier(ranker, tmp_path / "out", samples=pairs)
    assert their_scores(tmp_path / "out", pairs) == pytest.approx(our_scores(ranker, pairs), abs=1e-4)


def orders(questions: list[Question], scores: list[float]) -> list[list[int]]:
    """Rank each question's candidates; scores that differ by rounding alone count as equal."""
    found, start = [], 0
    for question in questions:
        own = scores[start : start + len(question.candidates)]
        found.append(sorted(range(len(own)), key=lambda place, own=own: -round(own[place], 4)))  # type: ignore[misc]
        start += len(own)
    return found
