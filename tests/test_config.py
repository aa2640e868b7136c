from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from anselect.config import Recipe, list_recipes, load_recipe, recipe_to_toml
from anselect.errors import DataError, MissingFileError, UsageError


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('[model]\nhead = "rnn"\n[training]\nlearning_rate = 1e-4\n')
    return path


def test_recipe_takes_its_name_from_the_file_and_defaults_from_one_place(recipe_file: Path) -> None:
    recipe = load_recipe(str(recipe_file))
    assert (recipe.name, recipe.model.head, recipe.training.learning_rate) == ("mine", "rnn", 1e-4)
    assert recipe.training.batch_size == Recipe(name="x").training.batch_size


@pytest.mark.parametrize(
    ("override", "section", "key", "value"),
    [
        ("training.learning_rate=2e-5", "training", "learning_rate", 2e-5),
        ("data.name=trecqa", "data", "name", "trecqa"),
        ("data.detokenize=true", "data", "detokenize", True),
        ("training.epochs = 7", "training", "epochs", 7),
        ('model.encoder="my folder"', "model", "encoder", "my folder"),
    ],
)
def test_override_replaces_one_key(recipe_file: Path, override: str, section: str, key: str, value: object) -> None:
    assert getattr(getattr(load_recipe(str(recipe_file), [override]), section), key) == value


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.learing_rate=1", "training.learing_rate: unknown key. Did you mean 'learning_rate'?"),
        ("trainng.epochs=1", "trainng: unknown key. Did you mean 'training'?"),
        ("training.epochs=0", "training.epochs: Input should be greater than or equal to 1, got 0"),
        (
            "model.head=rmm",
            "model.head: Input should be 'linear', 'fc', 'bow', 'cnn', 'rnn', 'sigmoid' or 'match', got 'rmm'",
        ),
        ("training.accumulation_steps=3", "batch_size 32 is no multiple of accumulation_steps 3"),
        ("training.loss=cosine-mse", "loss cosine-mse is for the siamese model's cosine"),
        ("epochs", "expected --set section.key=value, got 'epochs'"),
        ("name.x=1", "'name' is a value"),
    ],
)
def test_mistake_is_told_in_one_line(recipe_file: Path, override: str, message: str) -> None:
    overrides = ["name=mine", override] if override.startswith("name.") else [override]
    with pytest.raises(UsageError) as caught:
        load_recipe(str(recipe_file), overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_that_is_no_toml_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[model\n")
    with pytest.raises(DataError, match=r"bad\.toml: expected a TOML recipe, got: .*line 1"):
        load_recipe(str(path))


def test_unknown_recipe_is_told() -> None:
    with pytest.raises(MissingFileError, match="no-such-thing: no such recipe or file"):
        load_recipe("no-such-thing")


def test_recipe_written_back_reads_the_same(recipe_file: Path) -> None:
    recipe = load_recipe(str(recipe_file), ["text.highlight=mark", "training.seed=3"])
    assert Recipe.model_validate(tomllib.loads(recipe_to_toml(recipe))) == recipe


def test_siamese_model_cannot_be_trained_on_highlighted_texts() -> None:
    with pytest.raises(
        UsageError, match=r"^[^\n]*cete-features-glove.toml: highlighting needs a cross-encoder: [^\n]*$"
    ):
        load_recipe("cete-features-glove", ["text.highlight=replace"])


@pytest.mark.parametrize("name", list_recipes())
def test_every_recipe_in_the_package_is_valid_and_named_for_its_file(name: str) -> None:
    assert load_recipe(name).name == name
