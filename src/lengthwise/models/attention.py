"""One attention module with named slots, shared by all models."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.remedies import Dropout, Softmax
from lengthwise.remedies.scores import DotProduct

NormPlace = Literal["before", "after"]


class Attention(nn.Module):
    """Queries read keys and values through four slots: `positions`, `score`, `weigh`, `norm`.

    `positions` may turn queries and keys, `score` compares them, `weigh` makes weights of the
    scores, the weights mix the values, and `norm` treats the mix before or after the output
    projection. There are no bias terms unless `bias` asks for them.

    What a query may see is given by `visible`, a tensor that broadcasts to (queries, keys): the
    logarithm of how often each key stands there. 0 is an ordinary key, -inf a hidden one, and
    log 3 a key that counts three times.
    """

    def __init__(
        self,
        width: int,
        *,
        heads: int = 1,
        key_width: int | None = None,
        value_width: int | None = None,
        bias: bool = False,
        positions: nn.Module | None = None,
        score: nn.Module | None = None,
        weigh: nn.Module | None = None,
        norm: nn.Module | None = None,
        norm_place: NormPlace = "after",
        dropout_weights: Dropout | None = None,
        dropout_output: Dropout | None = None,
    ) -> None:
        """Build the module; what is left out is ordinary softmax attention.

        Args:
            width: Width of what is read and of what is given out.
            heads: Number of heads.
            key_width: Width of queries and keys of all heads together (default: `width`).
            value_width: Width of the values of all heads together (default: `width`).
            bias: Whether the four projections have bias terms.
            positions: `(queries, keys, query_ids, key_ids) -> (queries, keys)`.
            score: `(queries, keys, count) -> scores`.
            weigh: `(scores, visible) -> weights`.
            norm: `(output) -> output`, for `value_width` where it stands before the projection.
            norm_place: "before" or "after" the output projection.
            dropout_weights: Applied to the weights.
            dropout_output: Applied to the output.
        """
        super().__init__()
        key_width = key_width or width
        value_width = value_width or width
        for field, value in (("key_width", key_width), ("value_width", value_width)):
            require(value % heads == 0, field, value, f"a multiple of heads = {heads}")
        self.heads = heads
        self.norm_place = norm_place
        self.query = nn.Linear(width, key_width, bias=bias)
        self.key = nn.Linear(width, key_width, bias=bias)
        self.value = nn.Linear(width, value_width, bias=bias)
        self.output = nn.Linear(value_width, width, bias=bias)
        self.positions = positions
        self.score = score or DotProduct()
        self.weigh = weigh or Softmax()
        self.norm = norm or nn.Identity()
        self.dropout_weights = dropout_weights or Dropout()
        self.dropout_output = dropout_output or Dropout()

    def forward(
        self,
        reader: Tensor,
        source: Tensor,
        visible: Tensor,
        reader_ids: Tensor | None = None,
        source_ids: Tensor | None = None,
    ) -> Tensor:
        """Let every row of `reader` read the visible rows of `source`.

        Args:
            reader: `(..., queries, width)`.
            source: `(..., keys, width)`.
            visible: Broadcasts to `(..., queries, keys)`; see the class.
            reader_ids: Position ids for the `positions` slot.
            source_ids: Position ids for the `positions` slot.

        Returns:
            `(..., queries, width)`.
        """
        scores = self.scores(reader, source, visible, reader_ids, source_ids)
        return self.mix(scores, source, visible)

    def scores(
        self,
        reader: Tensor,
        source: Tensor,
        visible: Tensor | None = None,
        reader_ids: Tensor | None = None,
        source_ids: Tensor | None = None,
    ) -> Tensor:
        """The first half of `forward`: scores `(..., heads, queries, keys)`."""
        queries, keys = self._queries(reader), self._heads(self.key(source))
        if self.positions is not None:
            queries, keys = self.positions(queries, keys, reader_ids, source_ids)
        count = None
        if self.score.needs_count:
            assert visible is not None
            count = visible.exp().sum(-1, keepdim=True).unsqueeze(-3)
        scores: Tensor = self.score(queries, keys, count)
        return scores

    def mix(self, scores: Tensor, source: Tensor, visible: Tensor) -> Tensor:
        """The second half of `forward`: weigh the scores, mix the values, norm and project."""
        weights = self.dropout_weights(self.weigh(scores, visible.unsqueeze(-3)))
        values = self.value(source)
        direct = self.heads == 1 and self.output.bias is None and self.norm_place == "after"
        if direct and weights.shape[-1] < weights.shape[-2]:
            # With one head and nothing in between, it does not matter whether values are mixed or
            # projected first; there are fewer of them than of queries.
            projected = (weights @ self._heads(self.output(values))).squeeze(-3)
            dropped: Tensor = self.dropout_output(self.norm(projected))
            return dropped
        return self.finish((weights @ self._heads(values)).transpose(-2, -3).flatten(-2)).output

    def fold(self, reader: Tensor, lift: Tensor) -> Tensor:
        """Queries that compare themselves with the source as it is, without any keys.

        Where few queries read many keys, q . (W_K h) = (W_K^T q) . h is cheaper from the right:
        no key is ever formed. Nor is h, if it is `lift` times something narrower or cheaper: the
        last linear layer of whatever encodes the source can be folded into the query as well.
        Scores are then `score(fold(reader, lift), features)`; this leaves no room for `positions`.

        Args:
            reader: `(..., queries, width)`.
            lift: `(width, features)`: the source is `features @ lift.T`.

        Returns:
            `(..., heads, queries, features)`.
        """
        assert self.positions is None
        assert self.key.bias is None
        keys = (self.key.weight @ lift).unflatten(0, (self.heads, -1))
        return torch.einsum("...hqd,hdf->...hqf", self._queries(reader), keys)

    def unfold(self, mixed: Tensor, lift: Tensor) -> Tensor:
        """The values' mix out of the mix of features: W_V sum a h = W_V lift (sum a features).

        Args:
            mixed: `(..., heads, queries, features)`.
            lift: As in `fold`.

        Returns:
            `(..., queries, value width)`, which `finish` takes.
        """
        values = (self.value.weight @ lift).unflatten(0, (self.heads, -1))
        heads = torch.einsum("...hqf,hvf->...hqv", mixed, values)
        return heads.transpose(-2, -3).flatten(-2)

    def finish(self, mixed: Tensor) -> "AttentionOutput":
        """Norm and project a mix of values, `(..., queries, value width)`."""
        if self.norm_place == "before":
            before, after = mixed, self.norm(mixed)
            output = self.output(after)
        else:
            before = self.output(mixed)
            output = after = self.norm(before)
        return AttentionOutput(before, after, self.dropout_output(output))

    def _queries(self, reader: Tensor) -> Tensor:
        queries = self._heads(self.query(reader))
        return queries * queries.shape[-1] ** -0.5

    def _heads(self, rows: Tensor) -> Tensor:
        """(..., rows, heads * width) -> (..., heads, rows, width)."""
        return rows.unflatten(-1, (self.heads, -1)).transpose(-2, -3)


class AttentionOutput(NamedTuple):
    """What attention gives out, and what its norm saw on the way."""

    before_norm: Tensor
    after_norm: Tensor
    output: Tensor
