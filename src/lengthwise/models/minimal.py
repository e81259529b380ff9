"""The minimal transformer of the set complement task (arXiv 2510.08341, section 4)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.models.attention import Attention, NormPlace
from lengthwise.remedies import NORMS, SCORES, Dropout


class MinimalTransformer(nn.Module):
    """One layer, one head, attention only: no positions, no MLP, no bias terms.

    With E the embedding, U the unembedding and E' the embedding as attention reads it,

        logits(t_1..t_s) = B[t_s] + sum_i a_i D[t_i],   B = E U,   D = E' W_V W_O U,

    where a is the causal attention of the last token (1/s each if `attention` is "constant"). A
    norm after attention makes the second term non-linear; that is the remedy, not the theorem.
    """

    def __init__(
        self,
        vocab: int = 16,
        extra: int = 5,
        attention: str = "softmax",
        *,
        key_width: int | None = None,
        value_width: int | None = None,
        pre_norm: bool = True,
        norm: str = "none",
        norm_place: NormPlace = "after",
        dropout_embedding: float = 0.0,
        dropout_weights: float = 0.0,
        dropout_output: float = 0.0,
    ) -> None:
        """Build the model with PyTorch's own initialisation.

        Args:
            vocab: Number of tokens v.
            extra: Width beyond the theorem's minimum; the width is v - 1 + extra.
            attention: How keys are scored, by the name in `lengthwise.remedies.SCORES`.
            key_width: Width of queries and keys (default: the width).
            value_width: Width of the values (default: the width).
            pre_norm: Whether attention reads LayerNorm(E) instead of E.
            norm: Norm after attention, by its name in `lengthwise.remedies.NORMS`.
            norm_place: "before" or "after" the output projection W_O.
            dropout_embedding: Dropout rate of the embedded tokens.
            dropout_weights: Dropout rate of the attention weights.
            dropout_output: Dropout rate of the attention output.
        """
        super().__init__()
        require(vocab >= 2, "vocab", vocab, "at least 2")
        width = vocab - 1 + extra
        require(width >= 1, "extra", extra, f"more than {1 - vocab}, so that some width is left")
        for field, value in (("key_width", key_width), ("value_width", value_width)):
            require(value is None or value >= 1, field, value, "at least 1")
        require_name(attention, SCORES, "attention")
        require_name(norm, NORMS, "norm")
        require_name(norm_place, ("before", "after"), "norm_place")
        self.vocab = vocab
        self.width = width
        norm_width = width if norm_place == "after" else value_width or width
        self.embedding = nn.Embedding(vocab, width)
        self.dropout_embedding = Dropout(dropout_embedding, "dropout_embedding")
        self.pre_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.attention = Attention(
            width,
            key_width=key_width,
            value_width=value_width,
            score=SCORES[attention](),
            norm=NORMS[norm](norm_width, 1),
            norm_place=norm_place,
            dropout_weights=Dropout(dropout_weights, "dropout_weights"),
            dropout_output=Dropout(dropout_output, "dropout_output"),
        )
        self.unembedding = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next token after every prefix.

        Args:
            tokens: Integers 0..vocab-1 of shape `(batch, length)`; they may repeat.

        Returns:
            `(batch, length, vocab)`.
        """
        if self._same_everywhere():
            return self._read_vocabulary(tokens)
        return self._read_sequence(tokens)

    def bias_matrix(self) -> Tensor:
        """B = E U: row t holds the logits that token t adds as the last one, `(vocab, vocab)`."""
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
        dropouts = (self.dropout_embedding, self.attention.dropout_weights)
        dropped = self.training and any(dropout.active for dropout in dropouts)
        return not dropped and not self.attention.score.needs_count

    def _read_vocabulary(self, tokens: Tensor) -> Tensor:
        """Attention over the vocabulary instead of the sequence: the same function, less work.

        Without positions, reading a prefix is reading each token of the vocabulary as often as the
        prefix holds it. Queries, keys, values and scores are then needed once per token of the
        vocabulary, not once per place, and one matrix product serves the whole batch.
        """
        weight = self.embedding.weight
        one_hot = torch.eye(self.vocab, dtype=weight.dtype, device=weight.device)
        chosen = functional.embedding(tokens, one_hot)
        counts = chosen.cumsum(-2).flatten(0, 1)
        # The logarithm of the counts, but for CPUs that are slow at the logarithm of many zeros.
        visible = counts.clamp(min=1).log() + (1 - counts.reciprocal()).clamp(max=0)
        chosen = chosen.flatten(0, 1)
        read = self.pre_norm(weight)
        scores = chosen @ self.attention.scores(read, read)
        moved: Tensor = self.unembedding(self.attention.mix(scores, read, visible))
        return (chosen @ self.bias_matrix() + moved).unflatten(0, tokens.shape)

    def _read_sequence(self, tokens: Tensor) -> Tensor:
        """Ordinary causal attention, where dropout treats every place on its own."""
        hidden = self.dropout_embedding(self.embedding(tokens))
        read = self.pre_norm(hidden)
        length = tokens.shape[-1]
        never = torch.full((length, length), -torch.inf, dtype=read.dtype, device=read.device)
        logits: Tensor = self.unembedding(hidden + self.attention(read, read, never.triu(1)))
        return logits
