"""The cross-encoder: token ids of question-candidate pairs come in, logits and P(correct) go out.

A Hugging Face model of our own, an encoder of any family with one of `heads.HEADS` on top. One folder holds all of it;
the encoder's original folder is not needed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.generic import ModelOutput

from anselect.errors import UsageError
from anselect.modeling.bert_layers import require_bert
from anselect.modeling.encoders import (
    accepted_inputs,
    class_vector,
    load_encoder,
    load_tokenizer,
    masked_mean,
    pooler_options,
    quiet,
)
from anselect.modeling.heads import HEADS, Head, HeadSettings, build_head, one_logit
from anselect.modeling.pair_tokens import PairBatch, pair_template
from anselect.modeling.question_first import check_question_layers, read_question_first
from anselect.modeling.sides_apart import CrossAttention, give_sides_class_tokens, read_sides_apart
from anselect.text.highlight import add_special_tokens, special_tokens

POOLINGS: Final = ("class", "pooler", "mean")
NO_HIGHLIGHT: Final = "none"
"""How recipes write "plain text"; the same as None."""


class AnswerSelectionConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Settings of an `AnswerSelectionModel`; transformers makes a dataclass of it."""

    model_type = "anselect-cross-encoder"
    sub_configs: ClassVar[dict[str, Any]] = {"encoder_config": AutoConfig}

    encoder_config: PreTrainedConfig | dict[str, Any] | None = None
    """The encoder's own settings."""
    encoder_name: str = ""
    """What the encoder was called when training began; kept for the record only."""
    head: str = "linear"
    cell: str = "rnn"
    """Recurrent cell of the `rnn` head."""
    dropout: float = 0.2
    pooling: str = "class"
    """What a head gets for the pair as a whole: the class token's last hidden state (as the papers write), `pooler`,
    BERT's own pooling layer on top of it (as `BertForSequenceClassification` does), or the `mean` over all tokens
    (what sentence encoders were tuned with)."""
    class_position: str = "first"
    """Where the class token stands among the tokens that are not padding: first, or last (XLNet)."""
    max_tokens: int = 128
    highlight: str | None = None
    """Name of the highlighting that every text must have been through; None for plain text."""
    highlight_tokens: list[str] | tuple[str, ...] = ()
    question_layers: int = 0
    """In so many of the lowest layers a question does not see its candidate (`question_first.py`)."""
    sides_apart: float = 0.0
    """By how much each head's attention between question and candidate was lowered when training began
    (`sides_apart.py`); 0: the two are read as one text, as the encoder's family reads pairs."""
    exit_layer: int = 0
    """After so many layers a head of the same kind, with the mean over all tokens, makes a first guess; 0: never."""
    exit_below: float | None = None
    """A pair whose first guess (a logit) lies below is read no further: the guess is its score. None: none is."""
    exit_tokens: int = 0
    """Only pairs of at most so many tokens leave: what is said in a long text is seen later. 0: any."""

    def __post_init__(self, **others: object) -> None:
        if not isinstance(self.encoder_config, PreTrainedConfig):
            named = dict(self.encoder_config or {"model_type": "bert"})
            self.encoder_config = AutoConfig.for_model(**named)
        self.highlight = None if self.highlight == NO_HIGHLIGHT else self.highlight
        if self.head in HEADS and self.id2label is None:
            others.setdefault("num_labels", HEADS[self.head].labels)
        super().__post_init__(**others)  # type: ignore[no-untyped-call]


@dataclass
class AnswerSelectionOutput(ModelOutput):
    """What the model returns: two logits per pair (wrong, correct), or one for the `sigmoid` head."""

    logits: Tensor | None = None
    exit_logits: Tensor | None = None
    """In training: the first guesses, of the same shape, of a model that makes them."""


class AnswerSelectionModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Encoder + head. `from_encoder` starts from pre-trained weights, `from_pretrained` from a saved model."""

    config_class = AnswerSelectionConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True

    config: AnswerSelectionConfig
    encoder: PreTrainedModel
    cross_attention: CrossAttention
    rows_per_pass: int = 0
    """In training: sort a batch's rows by length and encode so many at a time, each part as wide as its own longest
    row. The candidates of one question differ in length, so one pass over all would be a third padding. 0: one pass."""

    def __init__(self, config: AnswerSelectionConfig, encoder: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        if config.pooling not in POOLINGS:
            raise UsageError(f"unknown pooling '{config.pooling}': choose from {', '.join(POOLINGS)}")
        self.encoder = encoder or _empty_encoder(config)
        check_question_layers(self.encoder, config.question_layers)
        if config.sides_apart:
            self._let_sides_begin_apart(config)
        # One object, so that growing the encoder's embeddings is saved with the model's settings.
        config.encoder_config = self.encoder.config
        heads = [self._new_head() for _ in range(2 if config.exit_layer else 1)]
        self.head = heads[0]
        if config.exit_layer:
            self.exit_head = heads[1]
        self.post_init()  # type: ignore[no-untyped-call]
        for head in heads:
            head.begin(exactly=config.sides_apart > 0)
        self._freeze_unused()

    def _let_sides_begin_apart(self, config: AnswerSelectionConfig) -> None:
        require_bert(self.encoder, "sides_apart")
        if config.question_layers:
            raise UsageError("expected sides_apart or question_layers, got both: leave one of them out")
        own = self.encoder.config
        self.cross_attention = CrossAttention(own.num_hidden_layers, own.num_attention_heads, config.sides_apart)

    @classmethod
    def from_pretrained(cls, *inputs: Any, **options: Any) -> Any:  # noqa: ANN401 - the library's signature
        """Load a saved model, as in every Hugging Face model."""
        loaded = super().from_pretrained(*inputs, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model._freeze_unused()  # loading makes every weight trainable
        return loaded

    @classmethod
    def from_encoder(
        cls,
        name: str,
        *,
        attention: str | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> tuple[AnswerSelectionModel, PreTrainedTokenizerBase]:
        """Put a new head on a named pre-trained encoder; return it with the encoder's tokenizer.

        `settings` are those of `AnswerSelectionConfig`. The head's weights come from torch's random state.
        """
        tokenizer = load_tokenizer(name)
        encoder = load_encoder(name, pooler=settings.get("pooling") == "pooler", attention=attention)
        encoder.config.name_or_path = name  # not the folder that it was found in on this machine
        config = AnswerSelectionConfig(  # type: ignore[call-arg]
            encoder_config=encoder.config,
            encoder_name=name,
            class_position=pair_template(tokenizer).class_position,
            # A config hands its own choice down to its parts, and would undo the encoder's.
            attn_implementation=encoder.config._attn_implementation,
            **settings,
        )
        limit = most_tokens(encoder.config)
        if limit is not None and config.max_tokens > limit:
            raise UsageError(f"max_tokens is {config.max_tokens}: {name} takes at most {limit}")
        model = cls(config, encoder=encoder)
        if config.sides_apart:
            give_sides_class_tokens(tokenizer)
        return model, tokenizer

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        question_mask: Tensor | None = None,
        candidate_mask: Tensor | None = None,
    ) -> AnswerSelectionOutput:
        """Return the logits of B pairs; the masks are needed by the heads that read single tokens (bow, cnn, rnn)."""
        if question_mask is None or candidate_mask is None:
            if self.config.head not in ("linear", "fc", "sigmoid"):
                raise UsageError(f"the head '{self.config.head}' needs question_mask and candidate_mask")
            question_mask = candidate_mask = torch.zeros_like(attention_mask, dtype=torch.bool)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        rows = {**inputs, "question_mask": question_mask, "candidate_mask": candidate_mask}
        known = {name: values for name, values in rows.items() if values is not None}
        if not (self.training and 0 < self.rows_per_pass < len(input_ids)):
            return self._output(self._logits(known), attention_mask)
        order = attention_mask.sum(dim=1).argsort(stable=True)
        parts = [self._logits(_trimmed(known, part)) for part in torch.split(order, self.rows_per_pass)]
        return self._output(torch.cat(parts)[order.argsort()], attention_mask)

    def _output(self, logits: Tensor, attention_mask: Tensor) -> AnswerSelectionOutput:
        if not self.config.exit_layer:
            return AnswerSelectionOutput(logits=logits)
        whole, guess = logits.chunk(2, dim=1)
        if self.training:
            return AnswerSelectionOutput(logits=whole, exit_logits=guess)
        if self.config.exit_below is not None:
            leaves = one_logit(guess) < self.config.exit_below
            if self.config.exit_tokens:
                leaves = leaves & (attention_mask.sum(dim=1) <= self.config.exit_tokens)  # ONNX has no &=
            whole = torch.where(leaves.unsqueeze(1), guess, whole)
        return AnswerSelectionOutput(logits=whole)

    def _logits(self, rows: dict[str, Tensor]) -> Tensor:
        """Return the logits of rows, and behind them as many of the first guess in a model that makes one."""
        sides = {name: rows[name] for name in ("question_mask", "candidate_mask")}
        inputs = {name: values for name, values in rows.items() if name not in sides}
        output = self.encode(inputs)
        pooled = self._pooled(output, rows["attention_mask"])
        logits: Tensor = self.head(output["last_hidden_state"], pooled, *sides.values())
        if not self.config.exit_layer:
            return logits
        early = output["hidden_states"][self.config.exit_layer]
        guess = self.exit_head(early, masked_mean(early, rows["attention_mask"]), *sides.values())
        return torch.cat([logits, guess], dim=1)

    def encode(self, inputs: dict[str, Tensor]) -> ModelOutput:
        """Run the encoder on ids, mask and segments; its output has all layers' states where an exit needs one."""
        known = accepted_inputs(self.encoder, inputs)
        if self.config.question_layers:
            return read_question_first(self.encoder, known, self.config.question_layers)
        if self.config.sides_apart:
            return read_sides_apart(self.encoder, known, self.cross_attention)
        options = {"output_hidden_states": True} if self.config.exit_layer else {}
        return cast(ModelOutput, self.encoder(**known, **options))

    @torch.inference_mode()
    def score(self, batch: PairBatch) -> Tensor:
        """Return P(correct) of each pair (B), without dropout: softmax over two logits, or sigmoid of one."""
        was_training = self.training
        self.eval()  # type: ignore[no-untyped-call]
        try:
            inputs = {name: tensor.to(self.device) for name, tensor in batch.model_inputs().items()}
            return probabilities(self(**inputs).logits)
        finally:
            self.train(was_training)

    def add_highlight_tokens(self, tokenizer: PreTrainedTokenizerBase, way: str) -> int:
        """Make each token of a way of highlighting one piece with an embedding of its own; return how many were new.

        Whoever scores with this model has to highlight in that way. New rows are drawn around the mean of the known.
        """
        new = add_special_tokens(tokenizer, way)
        if len(tokenizer) > self.encoder.config.vocab_size:
            with quiet():
                self.encoder.resize_token_embeddings(len(tokenizer))
        self.config.highlight = way
        self.config.highlight_tokens = list(special_tokens(way))
        return new

    def add_exit(self, layer: int) -> None:
        """Let a first guess be made after so many layers, by a new head drawn from torch's random state."""
        layers = self.encoder.config.num_hidden_layers
        if not 0 < layer < layers:
            raise UsageError(f"expected an exit behind one of the layers 1 to {layers - 1}, got {layer}")
        self.config.exit_layer = layer
        self.exit_head = self._new_head().to(self.device).train(self.training)
        for module in self.exit_head.modules():
            self._init_weights(module)
        self.exit_head.begin(exactly=self.config.sides_apart > 0)

    def remove_exit(self) -> None:
        """Make no first guess any more."""
        if self.config.exit_layer:
            self.config.exit_layer, self.config.exit_below, self.config.exit_tokens = 0, None, 0
            del self.exit_head

    def _new_head(self) -> Head:
        config, width = self.config, self.encoder.config.hidden_size
        return build_head(config.head, HeadSettings(width=width, dropout=config.dropout, cell=config.cell))

    def _freeze_unused(self) -> None:
        # XLNet's vector for its pre-training alone: a trainable weight without gradient stops several processes.
        unused = getattr(self.encoder, "mask_emb", None)
        if isinstance(unused, nn.Parameter):
            unused.requires_grad = False

    def _pooled(self, output: ModelOutput, attention_mask: Tensor) -> Tensor:
        if self.config.pooling == "class":
            return class_vector(output["last_hidden_state"], attention_mask, self.config.class_position)
        if self.config.pooling == "mean":
            return masked_mean(output["last_hidden_state"], attention_mask)
        pooled = output.get("pooler_output")
        if not isinstance(pooled, Tensor):
            raise UsageError(f"{type(self.encoder).__name__} has no pooler: set pooling to 'class'")
        return pooled

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                if "weight_hh" in name:
                    nn.init.orthogonal_(parameter)
                elif "weight_ih" in name:
                    nn.init.xavier_uniform_(parameter)
                else:
                    nn.init.zeros_(parameter)


def probabilities(logits: Tensor) -> Tensor:
    """Return P(correct) of logits (…, 1) or (…, 2), computed in float32 at least."""
    return torch.sigmoid(one_logit(logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits))


def _trimmed(rows: dict[str, Tensor], places: Tensor) -> dict[str, Tensor]:
    """Pick rows, without the columns in which all of them are padding, whichever side it stands on."""
    columns = rows["attention_mask"][places].any(dim=0).nonzero().squeeze(1)
    first, last = int(columns.min()), int(columns.max())
    return {name: values[places, first : last + 1] for name, values in rows.items()}


def most_tokens(config: PreTrainedConfig) -> int | None:
    """Return how many tokens an encoder can take, None for one with relative positions only (XLNet)."""
    limit = getattr(config, "max_position_embeddings", None)
    # RoBERTa and MPNet count positions from behind the padding index: 514 rows serve 512 tokens.
    offset = 2 if config.model_type in ("roberta", "mpnet", "xlm-roberta", "camembert") else 0
    return None if limit is None or limit < 0 else limit - offset


def _empty_encoder(config: AnswerSelectionConfig) -> PreTrainedModel:
    settings = cast(PreTrainedConfig, config.encoder_config)
    options = pooler_options(settings, pooler=config.pooling == "pooler")
    encoder: PreTrainedModel = AutoModel.from_config(settings, **options)  # type: ignore[no-untyped-call]
    return encoder
