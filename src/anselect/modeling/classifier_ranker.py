"""A plain `*ForSequenceClassification` folder in, a ranker out: cross-encoders that others trained.

One class gives sigmoid(logit), two give P(class 1); pairs are tokenized as for our own models. Modular folders of
sentence-transformers (`module_chain`) are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from anselect.errors import DataError
from anselect.modeling.cross_encoder import AnswerSelectionModel, most_tokens
from anselect.modeling.encoders import accepted_inputs, load_tokenizer, quiet, require_vocabulary
from anselect.modeling.module_chain import ModuleChain, is_module_chain, read_module_chain
from anselect.modeling.pair_tokens import pair_template
from anselect.modeling.scoring import score_pairs
from anselect.records import Question, ScoredQuestions
from anselect.text.steps import TextSteps

CLASSIFIER: Final = "ForSequenceClassification"
DEFAULT_MAX_TOKENS: Final = 512
"""For models and tokenizers that name no limit."""


class PairClassifier(nn.Module):
    """The library's classifier with the face of an `AnswerSelectionModel`: it has no use for masks of the sides."""

    def __init__(self, classifier: PreTrainedModel | ModuleChain, max_tokens: int) -> None:
        super().__init__()
        self.classifier = classifier
        self.config = classifier.config
        self.config.max_tokens = max_tokens

    @property
    def device(self) -> torch.device:
        return self.classifier.device

    def forward(self, question_mask: Tensor, candidate_mask: Tensor, **inputs: Tensor) -> Any:  # noqa: ANN401 - the library's output
        """Return the classifier's output for B pairs."""
        return self.classifier(**accepted_inputs(cast(PreTrainedModel, self.classifier), inputs))


class ClassifierRanker:
    """A classifier of pairs with its tokenizer, under the name that a user knows it by."""

    def __init__(self, model: PairClassifier, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
        self._model, self._tokenizer, self._name = model, tokenizer, name
        self.steps = TextSteps()

    @property
    def description(self) -> str:
        """Name the model and what it is."""
        classes = "one class" if self._model.config.num_labels == 1 else "two classes"
        return f"model {self._name} ({type(self._model.classifier).__name__} with {classes}, not trained by anselect)"

    def score(self, questions: Sequence[Question]) -> ScoredQuestions:
        """Score every candidate by its probability of being correct."""
        asked = [question.text for question in questions for _ in question.candidates]
        texts = [candidate.text for question in questions for candidate in question.candidates]
        scored = score_pairs(cast(AnswerSelectionModel, self._model), self._tokenizer, asked, texts)
        found = ScoredQuestions.from_flat(questions, scored.scores, scored.cut_candidates)
        return replace(found, max_tokens=self._model.config.max_tokens)


def load_classifier(folder: Path, name: str) -> ClassifierRanker:
    """Load a classifier with one or two classes; raises DataError, in one line, for anything else."""
    return ClassifierRanker(*read_classifier(folder, name), name)


def read_classifier(folder: Path, name: str) -> tuple[PairClassifier, PreTrainedTokenizerBase]:
    """Load the network and the tokenizer of a classifier with one or two classes; raises DataError for others."""
    with _explained(folder), quiet():
        if is_module_chain(folder):
            classifier: PreTrainedModel | ModuleChain = read_module_chain(folder)
            tokenizer = load_tokenizer(str(folder))
        else:
            classifier, tokenizer = _read_plain(folder, name)
    _check_tokenizer(tokenizer, folder)
    classifier.eval()
    return PairClassifier(classifier, _max_tokens(classifier.config, tokenizer)), tokenizer


def _read_plain(folder: Path, name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    _check(config, folder, name)
    classifier, report = AutoModelForSequenceClassification.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, dtype=torch.float32, output_loading_info=True
    )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    missing = sorted(report["missing_keys"])
    if missing:
        raise DataError(f"expected all weights of the model, {len(missing)} are missing ({missing[0]}, …)", path=folder)
    return classifier, tokenizer


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn the library's many-line errors into one line."""
    try:
        yield
    except (OSError, ValueError, SafetensorError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"expected a cross-encoder that can be loaded: {reason}", path=folder) from error


def _check(config: PreTrainedConfig, folder: Path, name: str) -> None:
    kinds = config.architectures or []
    wanted = f"an anselect model or a *{CLASSIFIER} with one or two classes"
    if not any(kind.endswith(CLASSIFIER) for kind in kinds):
        got = kinds[0] if kinds else f"a model of type '{config.model_type}'"
        hint = f"train a ranker on it: anselect train minilm-linear --set model.encoder={name}"
        raise DataError(f"expected {wanted}, got {got}: {hint}", path=folder)
    if config.num_labels not in (1, 2):
        raise DataError(f"expected {wanted}, got {config.num_labels} classes", path=folder)


def _check_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    require_vocabulary(tokenizer, folder)
    if tokenizer.pad_token_id is None or not pair_template(tokenizer).between.ids:
        message = "expected a tokenizer that pads and that puts a separator between two texts"
        raise DataError(f"{message}, got {type(tokenizer).__name__} without", path=folder)


def _max_tokens(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    # The library writes "no limit" as 1e30.
    limits = [most_tokens(config), tokenizer.model_max_length if tokenizer.model_max_length < 1e9 else None]
    return min((limit for limit in limits if limit), default=DEFAULT_MAX_TOKENS)
