"""Every recipe that ships is trained, loaded, asked and evaluated with its own settings, on a tiny twin of its encoder.

Only the encoder (or the file of vectors), the tagger, the data and the number of epochs are replaced.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from transformers import AutoModel, BertTokenizer
from typer.testing import CliRunner

import anselect
from anselect.cli.evaluate import evaluate
from anselect.config import Recipe, list_recipes, load_recipe
from anselect.data.reading import write_questions
from anselect.records import Candidate, Question
from anselect.training.train import train
from tests.modeling import conftest as families
from tests.modeling.test_elmo import write_model as write_elmo

QUESTION = "Who invented the telephone?"
PEOPLE, CITIES = ("Bell", "Meucci", "Reis"), ("Paris", "Boston", "Rome")

app = typer.Typer()
app.command()(evaluate)


def save_encoder(folder: Path, family: families.Family) -> str:
    """Write a family's tiny model with room for as many tokens as the recipes read."""
    torch.manual_seed(0)
    if family.name != "xlnet":  # which has no limit
        family.config.max_position_embeddings = 130
    AutoModel.from_config(family.config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    family.tokenizer.save_pretrained(folder)
    return str(folder)


def cased_bert() -> families.Family:
    """BERT whose tokenizer keeps capitals, and knows some words that have them."""
    words = [*families.word_pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), "Who", *PEOPLE, *CITIES]
    tokenizer = BertTokenizer(vocab={word: place for place, word in enumerate(words)}, do_lower_case=False)
    config = families.bert().config
    config.vocab_size = len(tokenizer)
    return families.Family("bert", config, tokenizer)


def save_glove(folder: Path) -> str:
    words = [*families.WORDS, *(name.lower() for name in (*PEOPLE, *CITIES))]
    vectors = np.random.default_rng(0).normal(size=(len(words), 12))
    lines = (f"{word} {' '.join(f'{value:.4f}' for value in row)}\n" for word, row in zip(words, vectors, strict=True))
    folder.with_suffix(".txt").write_text("".join(lines))
    return str(folder.with_suffix(".txt"))


def save_elmo(folder: Path) -> str:
    folder.mkdir()
    write_elmo(folder)
    return str(folder)


TWINS: dict[str, Callable[[Path], str]] = {
    "google-bert/bert-base-cased": lambda folder: save_encoder(folder, cased_bert()),
    "google-bert/bert-base-uncased": lambda folder: save_encoder(folder, families.bert()),
    "google-bert/bert-large-cased": lambda folder: save_encoder(folder, cased_bert()),
    "google-bert/bert-large-uncased": lambda folder: save_encoder(folder, families.bert()),
    "sentence-transformers/all-MiniLM-L6-v2": lambda folder: save_encoder(folder, families.bert()),
    "sentence-transformers/all-mpnet-base-v2": lambda folder: save_encoder(folder, families.mpnet()),
    "FacebookAI/roberta-base": lambda folder: save_encoder(folder, families.roberta()),
    "FacebookAI/roberta-large": lambda folder: save_encoder(folder, families.roberta()),
    "xlnet/xlnet-base-cased": lambda folder: save_encoder(folder, families.xlnet()),
    "xlnet/xlnet-large-cased": lambda folder: save_encoder(folder, families.xlnet()),
    "glove.6B.300d.txt": save_glove,
    "elmo_2x4096_512_2048cnn_2xhighway": save_elmo,
}
"""A small model of the same family for each encoder that a recipe names."""


def questions(first: int, count: int = 6) -> list[Question]:
    """Make questions that ask for a person or a city, with one right candidate of three."""
    made = []
    for number in range(first, first + count):
        person, city = PEOPLE[number % 3], CITIES[number // 3 % 3]
        text, right, wrong = [(QUESTION, person, city), ("What city is it in?", city, person)][number % 2]
        texts = [(f"It is not {wrong}.", 0), (f"{right} did it in 1876.", 1), ("It rings.", 0)]
        candidates = tuple(Candidate(f"c{place}", *pair) for place, pair in enumerate(texts))
        made.append(Question(f"q{number}", text, candidates))
    return made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoders, the data as TSV, and a pipeline that finds its names by rule."""
    spacy = pytest.importorskip("spacy")
    folder = tmp_path_factory.mktemp("recipes")
    for split, first in (("train", 0), ("dev", 6), ("test", 12)):
        write_questions(questions(first), folder / f"{split}.tsv")
    nlp = spacy.blank("en")
    patterns = [{"label": "PERSON", "pattern": name} for name in PEOPLE]
    patterns += [{"label": "GPE", "pattern": name} for name in CITIES]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.to_disk(folder / "rules")
    return folder


def tiny_twin(recipe: Recipe, folder: Path) -> Recipe:
    """Return the recipe with a tiny encoder, own data, a tagger without weights and one epoch; the rest is its own."""
    place = folder / recipe.model.encoder.replace("/", "--")
    built = place.with_suffix(".txt") if recipe.model.features == "glove" else place
    encoder = str(built) if built.exists() else TWINS[recipe.model.encoder](place)
    files = {split: str(folder / f"{split}.tsv") for split in ("train", "dev", "test")}
    return recipe.model_copy(
        update={
            "model": recipe.model.model_copy(update={"encoder": encoder}),
            "data": recipe.data.model_copy(update=files),
            "text": recipe.text.model_copy(update={"pipeline": str(folder / "rules")}),
            "training": recipe.training.model_copy(update={"epochs": 1}),
        }
    )


@pytest.mark.parametrize("name", list_recipes())
def test_recipe_trains_ranks_and_evaluates(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    recipe = load_recipe(name)
    run = tmp_path / "run"
    metrics = train(tiny_twin(recipe, folder), run)
    assert (metrics["recipe"], metrics["train_questions"], metrics["train_pairs"]) == (name, 6, 18)
    result = CliRunner().invoke(app, [str(run), "--data", str(folder / "test.tsv"), "--format", "json"])
    assert result.exception is None, result.exception
    measured = json.loads(result.stdout)["measures"]["MAP"]["value"]
    assert measured == pytest.approx(metrics["test"]["answerable"]["MAP"], abs=1e-9)
    scores = ranked(run)
    assert all(0 < score < 1 for score in scores.values())
    assert_texts_are_read_as_the_recipe_says(scores, recipe)


def ranked(run: Path) -> dict[str, float]:
    texts = ["Bell did it in 1876.", "Meucci did it in 1876.", "BELL did it in 1876.", "It rings.", ""]
    ranking = anselect.load(run).rank(QUESTION, texts)
    assert [place.score for place in ranking] == sorted((place.score for place in ranking), reverse=True)
    return {place.text: place.score for place in ranking}


def assert_texts_are_read_as_the_recipe_says(scores: dict[str, float], recipe: Recipe) -> None:
    bell, meucci, shouted = (scores[f"{name} did it in 1876."] for name in ("Bell", "Meucci", "BELL"))
    # A highlighted name is one token, whoever bears it; the tagger's rules know Bell, not BELL.
    assert (bell == meucci) == (recipe.text.highlight == "replace")
    if recipe.text.highlight == "none":
        is_lower = any(part in recipe.model.encoder for part in ("uncased", "MiniLM", "mpnet"))
        # The same tokens in another place of a batch may differ in the last bit.
        assert math.isclose(bell, shouted, abs_tol=1e-6) == (is_lower or recipe.model.features == "glove")
