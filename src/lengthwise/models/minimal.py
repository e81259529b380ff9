"""The minimal transformer of the set complement task (arXiv 2510.08341, section 4)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, embedded, model, position_ids, read_of, tokens_of
from lengthwise.models.attention import Attention
from lengthwise.randomness import where
from lengthwise.remedies import Dropout, Keys, Shape
from lengthwise.remedies._chain import Chain, chain_key_maps, require_fit
from lengthwise.tasks import Task, Tokens, TokenTask


class MinimalTransformer(nn.Module):
    """One layer, one head, attention only: no positions, no MLP, no bias terms.

    With E the embedding, U the unembedding and E' the embedding as attention reads it,

        logits(t_1..t_s) = B[t_s] + sum_i a_i D[t_i],   B = E U,   D = E' W_V W_O U,

    where a is the causal attention of the last token (1/s each with the remedy "constant"). A norm
    after attention makes the second term non-linear; that is the remedy, not the theorem.
    """

    def __init__(
        self,
        vocab: int = 16,
        extra_width: int = 5,
        *,
        classes: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        pre_norm: bool = True,
        remedies: Sequence[str] = (),
        embed_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
        max_length: int | None = None,
        max_train_length: int | None = None,
    ) -> None:
        """Build the model with PyTorch's own initialisation.

        Args:
            vocab: Number of tokens v.
            extra_width: Width beyond the theorem's minimum; the width is v - 1 + extra_width.
            classes: Number of answers (default: `vocab`).
            key_width: Width of queries and keys (default: the width).
            value_width: Width of the values (default: the width).
            pre_norm: Whether attention reads LayerNorm(E) instead of E.
            remedies: Names, or paths of Python files.
            embed_dropout: Dropout rate of the embedded tokens.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of the attention output.
            max_length: Length of the longest input, for remedies with positions (default: `vocab`).
            max_train_length: Length of the longest input of training (default: `max_length`).

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        require(vocab >= 2, "vocab", vocab, "at least 2")
        width = vocab - 1 + extra_width
        expected = f"more than {1 - vocab}, so that some width is left"
        require(width >= 1, "extra_width", extra_width, expected)
        for field, value in (("key_width", key_width), ("value_width", value_width)):
            require(value is None or value >= 1, field, value, "at least 1")
        self.vocab = vocab
        self.width = width
        max_length = max_length or vocab
        shape = Shape(
            width=width,
            heads=1,
            head_width=(key_width or width) // chain_key_maps(remedies),
            value_width=value_width or width,
            layer=0,
            max_length=max_length,
            max_train_length=max_train_length or max_length,
        )
        chain = Chain(remedies, shape, where())
        self.embedding = nn.Embedding(vocab, width)
        self.remedies = chain.of_model()
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.pre_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.attention = Attention(
            width,
            key_width=key_width,
            value_width=value_width,
            remedies=chain.of_layer(0),
            attention_dropout=Dropout(attention_dropout, "attention_dropout"),
            resid_dropout=Dropout(resid_dropout, "resid_dropout"),
        )
        self.unembedding = nn.Linear(width, classes or vocab, bias=False)
        every = [*self.remedies, *self.attention.remedies]
        model = "a minimal transformer"
        require_fit(every, positions=True, causal=False, tracks=1, model=model, hides_later=True)

    def forward(self, inputs: Tensor | Tokens) -> Tensor:
        """Logits of the next token after every prefix.

        Args:
            inputs: Integers 0..vocab-1 of shape `(batch, length)`; they may repeat.

        Returns:
            `(batch, length, classes)`.
        """
        inputs = tokens_of(inputs)
        if inputs.mask is None and self._same_everywhere():
            return self._read_vocabulary(inputs.tokens)
        return self._read_sequence(inputs)

    def bias_matrix(self) -> Tensor:
        """B = E U: row t holds the logits that token t adds as the last one, `(vocab, classes)`."""
        bias: Tensor = self.unembedding(self.embedding.weight)
        return bias

    def displacement_matrix(self) -> Tensor:
        """D = E' W_V W_O U: row t holds what token t adds to the logits when it is read.

        With a norm after attention the logits are no longer linear in these rows.
        """
        read = self.pre_norm(self.embedding.weight)
        displacement: Tensor = self.unembedding(self.attention.output(self.attention.value(read)))
        return displacement

    def _same_everywhere(self) -> bool:
        """Whether a token's query, key and value are the same wherever the token stands."""
        dropped = self.training and self.embed_dropout.active
        plain = not dropped and not self.attention.dropping and len(self.remedies) == 0
        return plain and self.attention.by_multiset

    def _read_vocabulary(self, tokens: Tensor) -> Tensor:
        """Attention over the vocabulary instead of the sequence: the same function, less work.

        Without positions, reading a prefix is reading each token of the vocabulary as often as the
        prefix holds it. Queries, keys, values and their products are then needed once per token of
        the vocabulary, not once per place, and one matrix product serves the whole batch.
        """
        attention = self.attention
        weight = self.embedding.weight
        one_hot = torch.eye(self.vocab, dtype=weight.dtype, device=weight.device)
        chosen = functional.embedding(tokens, one_hot)
        counts = chosen.cumsum(-2).flatten(0, 1)
        # The logarithm of the counts, but for CPUs that are slow at the logarithm of many zeros.
        log_count = counts.clamp(min=1).log() + (1 - counts.reciprocal()).clamp(max=0)
        chosen = chosen.flatten(0, 1)
        context = self.pre_norm(weight)
        read = Keys(log_count)
        products = attention.scaled(chosen @ attention.products(context, context, read), read)
        weights = attention.weights(attention.scores(products, read), read)
        moved: Tensor = self.unembedding(attention.mix(weights, context))
        return (chosen @ self.bias_matrix() + moved).unflatten(0, tokens.shape)

    def _read_sequence(self, inputs: Tokens) -> Tensor:
        """Ordinary causal attention, where every place is treated on its own."""
        ids = position_ids(inputs, self.remedies)
        hidden = embedded(inputs, self.embedding(inputs.tokens), ids, self.remedies)
        hidden = self.embed_dropout(hidden)
        x = self.pre_norm(hidden)
        read = read_of(inputs, ids, x, self.remedies, causal=True)
        logits: Tensor = self.unembedding(hidden + self.attention(x, x, read))
        return logits


@model("minimal")
@dataclass(frozen=True, kw_only=True)
class MinimalModel(Model):
    """The minimal transformer: one layer, one head, attention only. All defaults are ours."""

    reads = TokenTask

    extra_width: int = 5
    """Width beyond vocab - 1, the least that Theorem 4.2 allows."""

    pre_norm: bool = True
    """Whether attention reads the embedding through a LayerNorm."""

    key_width: int | None = None
    """Width of queries and keys; the model's width if not given."""

    value_width: int | None = None
    """Width of the values; the model's width if not given."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> MinimalTransformer:
        """An untrained minimal transformer."""
        assert isinstance(task, TokenTask)
        require(task.tracks == 1, "task", task.name, "one with one position id per token")
        return MinimalTransformer(
            task.vocab,
            self.extra_width,
            classes=task.outputs,
            key_width=self.key_width,
            value_width=self.value_width,
            pre_norm=self.pre_norm,
            remedies=self.remedies,
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
            max_length=task.max_position,
            max_train_length=max_train_length and task.input_size(max_train_length),
        )

    def pack_key(self, hyperparameters: Hyperparameters) -> Hashable:
        """Without dropout that treats every place on its own there is a faster way through."""
        return bool(hyperparameters.embed_dropout or hyperparameters.attention_dropout)
