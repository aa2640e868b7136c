"""Token ids of pairs in, hidden states of all layers out: in the lower layers a question does not see its candidate.

A candidate's tokens see both sides from the first layer on. A question's tokens, the class token and the separator
among them, see only each other until the lower layers are through: what they are there is the same for all candidates,
so that an engine computes it once for each question.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from anselect.errors import UsageError
from anselect.modeling.bert_layers import as_bias, require_bert, run_layers


def check_question_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Raise UsageError for an encoder whose layers cannot be run one by one, or that has fewer of them."""
    if layers:
        require_bert(encoder, "question_layers")
    if not 0 <= layers <= encoder.config.num_hidden_layers:
        raise UsageError(f"expected 0 to {encoder.config.num_hidden_layers} question_layers, got {layers}")


def read_question_first(encoder: PreTrainedModel, inputs: dict[str, Any], layers: int) -> BaseModelOutput:
    """Run a BERT encoder; in so many lower layers tokens of segment 0 do not see those of segment 1."""
    bert: Any = encoder
    is_candidate, is_token = inputs["token_type_ids"].bool(), inputs["attention_mask"].bool()
    hidden: Tensor = bert.embeddings(input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"])
    seen = is_token[:, None, None, :].expand(-1, 1, is_token.shape[1], -1)
    apart = seen & (is_candidate[:, None, :, None] | ~is_candidate[:, None, None, :])
    biases = as_bias(apart, hidden.dtype), as_bias(seen, hidden.dtype)
    return run_layers(encoder, hidden, lambda number: biases[number >= layers])
