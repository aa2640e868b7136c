"""Models by Hub id, from a cache as the Hub's own client lays it out, and plain classifiers that others trained."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, GPT2Config, GPT2ForSequenceClassification

import anselect
from anselect.errors import AnselectError, DataError, DownloadError, MissingFileError
from anselect.modeling.checkpoint import save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from tests.hub_cache import put_into_cache

QUESTION, CANDIDATES = "who invented it", ["it rings", "bell did in 1876", "paris"]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of the Hub, and nobody who answers at its address."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def save_classifier(folder: Path, family: Any, *, classes: int) -> Any:
    """Write the library's own classifier of a family, with its tokenizer."""
    torch.manual_seed(0)
    config = type(family.config).from_dict(family.config.to_dict())
    config.num_labels = classes
    model: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    family.tokenizer.save_pretrained(folder)
    return model.eval()


def scores(selector: anselect.AnswerSelector) -> list[float]:
    return [place.score for place in sorted(selector.rank(QUESTION, CANDIDATES), key=lambda place: place.index)]


def test_checkpoint_of_ours_is_loaded_from_the_cache(cache: Path, tmp_path: Path, bert_folder: str) -> None:
    save_checkpoint(*AnswerSelectionModel.from_encoder(bert_folder, head="rnn", max_tokens=40), tmp_path / "best")
    put_into_cache(cache, "owner/ranker", tmp_path / "best")
    selector = anselect.load("owner/ranker")
    assert scores(selector) == scores(anselect.load(tmp_path / "best"))
    assert selector.description.startswith("model owner/ranker (")


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("name", ["bert", "roberta", "xlnet", "mpnet", "electra", "deberta-v2"])
def test_plain_classifier_ranks_by_the_probability_of_correct(
    families: Any, cache: Path, tmp_path: Path, name: str, classes: int
) -> None:
    family = families[name]()
    model = save_classifier(tmp_path / "plain", family, classes=classes)
    put_into_cache(cache, "owner/plain", tmp_path / "plain")
    found = []
    for candidate in CANDIDATES:
        inputs = family.tokenizer(QUESTION, candidate, return_tensors="pt")
        with torch.inference_mode():
            (logits,) = model(**inputs).logits
        found.append((torch.sigmoid(logits[0]) if classes == 1 else torch.softmax(logits, 0)[1]).item())
    assert scores(anselect.load("owner/plain")) == pytest.approx(found, abs=1e-6)
    assert scores(anselect.load(tmp_path / "plain")) == pytest.approx(found, abs=1e-6)


def test_plain_classifier_cuts_candidates_to_its_own_limit(families: Any, tmp_path: Path) -> None:
    save_classifier(tmp_path / "plain", families["roberta"](), classes=1)
    ranking = anselect.load(tmp_path / "plain").rank(QUESTION, ["short", "bell " * 50])
    # 66 rows of positions serve 64 tokens: RoBERTa counts from behind the padding index.
    assert (ranking.cut_candidates, ranking.max_tokens) == (1, 64)


def test_model_that_is_nowhere_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = r"nobody/none: no such folder, not in the Hub's cache \(.*hub\), and http://127.0.0.1:9 could not be"
    with pytest.raises(MissingFileError, match=message):
        anselect.load("nobody/none")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(MissingFileError, match=r"and HF_HUB_OFFLINE is set; 'anselect train --list'"):
        anselect.load("nobody/none")
    with pytest.raises(MissingFileError, match="runs/a/b: no such run or model folder"):
        anselect.load("runs/a/b")


def test_cache_without_weights_says_how_to_get_them(cache: Path, tmp_path: Path, families: Any) -> None:
    save_classifier(tmp_path / "plain", families["bert"](), classes=1)
    (tmp_path / "plain" / "model.safetensors").unlink()
    put_into_cache(cache, "owner/plain", tmp_path / "plain")
    with pytest.raises(MissingFileError, match=r"expected safetensors weights.*hf download owner/plain"):
        anselect.load("owner/plain")


def test_listed_file_that_is_missing_is_noticed(cache: Path, tmp_path: Path, families: Any) -> None:
    save_classifier(tmp_path / "plain", families["bert"](), classes=1)
    put_into_cache(cache, "owner/plain", tmp_path / "plain")
    (cache / "models--owner--plain" / "refs" / "main").write_text("f" * 40)
    with pytest.raises(MissingFileError, match="cache"):
        anselect.load("owner/plain")


def three_classes(folder: Path, families: Any) -> None:
    save_classifier(folder, families["bert"](), classes=3)


def encoder_only(folder: Path, families: Any) -> None:
    from transformers import AutoModel

    AutoModel.from_config(families["bert"]().config).save_pretrained(folder)  # type: ignore[no-untyped-call]


def no_tokenizer(folder: Path, families: Any) -> None:
    save_classifier(folder, families["bert"](), classes=1)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


def cut_weights(folder: Path, families: Any) -> None:
    save_classifier(folder, families["bert"](), classes=1)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def no_head(folder: Path, families: Any) -> None:
    save_classifier(folder, families["bert"](), classes=1)
    tensors = {name: tensor for name, tensor in load_file(folder / "model.safetensors").items() if "class" not in name}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def broken_config(folder: Path, families: Any) -> None:
    folder.mkdir()
    (folder / "config.json").write_text("{")


def unknown_type(folder: Path, families: Any) -> None:
    folder.mkdir()
    settings = {"model_type": "oracle", "auto_map": {"AutoConfig": "oracle.Config"}}
    (folder / "config.json").write_text(json.dumps(settings))


def causal(folder: Path, families: Any) -> None:
    """A decoder that classifies: its tokenizer neither pads nor separates."""
    config = GPT2Config(vocab_size=300, n_embd=8, n_layer=1, n_head=2)
    config.num_labels = 1
    GPT2ForSequenceClassification(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer = families["roberta"]().tokenizer
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (three_classes, "with one or two classes, got 3 classes"),
        (encoder_only, "got BertModel: train a ranker on it: anselect train"),
        (no_tokenizer, "expected a tokenizer beside the model, there is none"),
        (cut_weights, "expected a cross-encoder that can be loaded"),
        (no_head, r"expected all weights of the model, 2 are missing \(classifier.bias"),
        (broken_config, "expected a cross-encoder that can be loaded"),
        (unknown_type, "expected a cross-encoder that can be loaded"),
        (causal, "expected a tokenizer that pads"),
    ],
)
def test_folder_of_something_else_is_refused_in_one_line(
    tmp_path: Path, families: Any, write: Any, message: str
) -> None:
    write(tmp_path / "folder", families)
    with pytest.raises(DataError, match=message) as caught:
        anselect.load(tmp_path / "folder")
    assert "\n" not in str(caught.value)


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="model: no such checkpoint folder"):
        anselect.load(tmp_path)


class Refusing(BaseHTTPRequestHandler):
    """A Hub that has no model, or is broken."""

    status, code = 404, "RepoNotFound"

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("X-Error-Code", self.code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = HTTPServer(("127.0.0.1", 0), Refusing)
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{found.server_port}")
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("status", "code", "error", "message"),
    [
        (404, "RepoNotFound", MissingFileError, "has no such model or does not show it to you"),
        (403, "", DownloadError, "expected its files from"),
    ],
)
def test_hub_that_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch, status: int, code: str, error: type[AnselectError], message: str
) -> None:
    monkeypatch.setattr(Refusing, "status", status)
    monkeypatch.setattr(Refusing, "code", code)
    with pytest.raises(error, match=message) as caught:
        anselect.load("owner/none")
    assert "\n" not in str(caught.value)
