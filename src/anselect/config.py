"""A recipe: one TOML file that names a whole training. Read, checked, overridden by `key=value`, written back whole."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anselect.errors import DataError, MissingFileError, UsageError

RECIPES = Path(__file__).parent / "recipes"


class Section(BaseModel):
    """A part of a recipe: unknown keys are refused, values are checked, nothing changes after reading."""

    # A protocol may be called 243; on the command line that reads as a number.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class PaperConfig(Section):
    """Where the recipe comes from."""

    key: str = ""
    """The paper's name in published.toml; empty for recipes of our own."""
    system: str = ""
    """The system's name in published.toml."""
    table: str = ""


class DataConfig(Section):
    """What is trained and measured on."""

    name: str = "wikiqa"
    """A data set of the catalogue; ignored where `train` and `dev` name files."""
    train_split: str = ""
    """Empty: the data set's usual one (trecqa: train-all)."""
    train: str = ""
    dev: str = ""
    test: str = ""
    train_questions: Literal["answerable", "all"] = "answerable"
    """`answerable` leaves out questions without a correct candidate (WikiQA: 873 of 2,118)."""
    detokenize: bool = False
    """Turn Penn Treebank tokens back into text (TrecQA)."""
    drop_long: int = Field(default=0, ge=0)
    """Leave out training candidates of more words; 0 keeps all. The published TRAIN-ALL lost those over 60."""
    limit_questions: int = Field(default=0, ge=0)
    """Train on the first so many questions; 0 takes all. For trials."""


class TextConfig(Section):
    """What happens to texts before the ranker sees them."""

    highlight: Literal["none", "replace", "replace-typed", "mark"] = "none"
    pipeline: str = "en_core_web_sm"
    lower_case: bool = False


class ModelConfig(Section):
    """The ranker."""

    kind: Literal["cross-encoder", "siamese"] = "cross-encoder"
    encoder: str = "google-bert/bert-base-uncased"
    """Hub id, folder or installed weights package; with GloVe or ELMo features the vectors' file or folder."""
    start: str = ""
    """`cross-encoder` only: a trained run's or model's folder to go on from (transfer, then adapt), with its encoder,
    head and pooling. Empty: the encoder's own weights and a new head."""
    features: Literal["encoder", "glove", "elmo"] = "encoder"
    """`siamese` only: where the frozen token features come from."""
    head: Literal["linear", "fc", "bow", "cnn", "rnn", "sigmoid", "match"] = "linear"
    cell: Literal["rnn", "gru", "lstm"] = "rnn"
    pooling: Literal["class", "pooler", "mean"] = "class"
    """`cross-encoder` only: a pair's vector is the class token's, the encoder's own pooler's, or the mean of all."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_heads: int = Field(default=8, ge=1)
    encoder_layers: int = Field(default=1, ge=0)
    """`siamese` only; 0 is the ablation that pools the features directly."""
    max_tokens: int = Field(default=128, ge=8)
    question_layers: int = Field(default=0, ge=0)
    """`cross-encoder` on BERT only: in so many of the lowest layers a question does not see its candidate, so that they
    are computed once for each question. 0 with `start`: as many as there."""
    sides_apart: float = Field(default=0.0, ge=0)
    """`cross-encoder` on BERT only: each side has a class token and places of its own, and attention between them is
    lowered by so much at first; training changes it head by head. For encoders that were tuned for single texts. 0: the
    two are one text. With `start`: as there."""
    exit_layer: int = Field(default=0, ge=0)
    """`cross-encoder` only: behind so many layers a first guess is learnt, so that hopeless candidates need no more of
    them; 0: none."""


class TrainingConfig(Section):
    """How it is trained."""

    loss: Literal[
        "cross-entropy",
        "cosine-mse",
        "bertsel",
        "ranknet",
        "listwise-softmax",
        "listwise-and-pointwise",
        "distillation",
    ] = "cross-entropy"
    epochs: int = Field(default=3, ge=1)
    batch_size: int = Field(default=32, ge=1)
    """Pairs a step, over all processes; triples for `bertsel` and `ranknet`, questions for the listwise losses."""
    learning_rate: float = Field(default=2e-5, gt=0)
    optimizer: Literal["adamw", "adam"] = "adamw"
    weight_decay: float = Field(default=0.01, ge=0)
    warmup_share: float = Field(default=0.1, ge=0, le=1)
    max_gradient_norm: float = Field(default=1.0, gt=0)
    negatives: int = Field(default=1, ge=0)
    """Negatives sampled for each positive and epoch, by the pairwise losses; 0 takes every negative."""
    margin: float = Field(default=0.5, ge=0)
    cross_entropy_weight: float = Field(default=0.5, ge=0)
    """Of `bertsel`, `listwise-and-pointwise` and `distillation`."""
    label_weight: float = Field(default=0.3, ge=0, le=1)
    """`distillation` only: how much the labels count beside the teacher's logits."""
    hinge_weight: float = Field(default=0.5, ge=0)
    exit_weight: float = Field(default=0.3, ge=0)
    """How much the loss of the first guesses counts, where `model.exit_layer` asks for them."""
    encoder_dropout: Annotated[float, Field(ge=0, lt=1)] | Literal["own"] = "own"
    """`cross-encoder` only: the encoder's dropout; "own" is what it came with. 0 trains a fifth faster on a CPU."""
    frozen_layers: int = Field(default=0, ge=0)
    """`cross-encoder` only: so many of the encoder's lowest layers, and its embeddings but for those of highlighting's
    own tokens, are not trained."""
    average_steps: int = Field(default=0, ge=0)
    """Measure and keep the running mean of the weights over about so many steps instead of the last step's; 0: off."""
    patience: int = Field(default=0, ge=0)
    """Stop after so many epochs without a better dev MAP; 0 never. The best epoch's weights are kept either way."""
    group_by_length: bool = True
    precision: Literal["fp32", "fp16", "bf16"] = "fp32"
    accumulation_steps: int = Field(default=1, ge=1)
    gradient_checkpointing: bool = False
    checkpoint_steps: int = Field(default=0, ge=0)
    """Also save a checkpoint every so many steps; 0 saves at the end of each epoch only."""
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _batches_divide(self) -> TrainingConfig:
        if self.batch_size % self.accumulation_steps:
            raise ValueError(
                f"batch_size {self.batch_size} is no multiple of accumulation_steps {self.accumulation_steps}"
            )
        return self


class Recipe(Section):
    """One training, complete."""

    name: str
    description: str = ""
    paper: PaperConfig = PaperConfig()
    data: DataConfig = DataConfig()
    text: TextConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    protocol: str = ""
    """Evaluation rules for dev and test; empty: the data set's usual one."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Recipe:
        if self.model.kind == "siamese" and self.training.loss != "cosine-mse":
            raise ValueError("the siamese model gives a cosine: its loss is cosine-mse")
        if self.model.kind == "siamese" and self.text.highlight != "none":
            # Its features are of frozen words, among which there is no special token.
            raise ValueError("highlighting needs a cross-encoder: set text.highlight to none for the siamese model")
        if self.model.kind == "cross-encoder" and self.training.loss == "cosine-mse":
            raise ValueError("loss cosine-mse is for the siamese model's cosine")
        return self


def list_recipes() -> list[str]:
    """Name the recipes that come with the package."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_recipe(name_or_path: str, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe by its name or from a TOML file, with `section.key=value` overrides on top."""
    path = RECIPES / f"{name_or_path}.toml"
    if not path.is_file():
        path = Path(name_or_path)
    if not path.is_file():
        raise MissingFileError(f"{name_or_path}: no such recipe or file{_nearest(name_or_path, list_recipes())}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"expected a TOML recipe, got: {error}", path=path) from error
    values.setdefault("name", path.stem)
    for override in overrides:
        _override(values, override)
    return check_recipe(values, source=str(path))


def check_recipe(values: Mapping[str, Any], *, source: str) -> Recipe:
    """Turn plain values into a Recipe; every mistake is told in one line, an unknown key with the nearest known one."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"{source}: " + "; ".join(_explain(item) for item in error.errors())) from error


def recipe_to_toml(recipe: Recipe) -> str:
    """Write every key of a recipe, so that a run can be repeated from its folder alone.

    JSON's strings, numbers and booleans are TOML's as well.
    """
    values = recipe.model_dump()
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for section, keys in values.items():
        if isinstance(keys, dict):
            lines += ["", f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


def _override(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"expected --set section.key=value, got {override!r}")
    *sections, last = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise UsageError(f"expected a section before the dot in --set {override!r}, {section!r} is a value")
    values[last] = _parse_value(text.strip())


def _parse_value(text: str) -> Any:  # noqa: ANN401 - a TOML value is of any type; the recipe's schema checks it
    """Read a value as TOML does, and as plain text where that fails: `2e-5` → 2e-05, `trecqa` → 'trecqa'."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explain(item: Any) -> str:  # noqa: ANN401 - pydantic's error record
    place = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{place}: unknown key{_nearest(str(item['loc'][-1]), _known_keys(item['loc'][:-1]))}"
    message = item["msg"].removeprefix("Value error, ")
    got = "" if item["type"] in {"missing", "value_error"} else f", got {item['input']!r}"
    return f"{place}: {message}{got}" if place else message


def _known_keys(sections: Iterable[Any]) -> list[str]:
    model: Any = Recipe
    for section in sections:
        model = model.model_fields[section].annotation
    return list(model.model_fields)


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f". Did you mean {close[0]!r}?" if close else f". Known: {', '.join(known)}"
