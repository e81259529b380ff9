"""One attention module, shared by all models, with the hooks of remedies along its way."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.models.side_by_side import Linear, fast
from lengthwise.remedies import Dropout, Keys, Remedy
from lengthwise.remedies._base import softmax
from lengthwise.remedies._chain import Remedies

SHORT = 32
"""So many keys are few: a fleet's training then reads them with a kernel of ours."""


class Attention(nn.Module):
    """Queries made of `x` read keys and values made of `context`.

    Queries and keys go through the remedies' `queries_keys` and `scale`, their products through
    `bias` and `scores`; `weights` or the softmax make weights, which mix the values; the mix goes
    through `mixed`, the output projection and `output`. There are no bias terms unless `bias` asks
    for them. What a query may see is said by `Keys.log_count`.
    """

    vmapped = False
    """Whether it runs under `vmap`, for which torch's attention kernel has no rule on CPUs; a fleet
    says so."""

    def __init__(
        self,
        width: int,
        *,
        heads: int = 1,
        key_width: int | None = None,
        value_width: int | None = None,
        bias: bool = False,
        remedies: Iterable[Remedy] = (),
        attention_dropout: Dropout | None = None,
        resid_dropout: Dropout | None = None,
    ) -> None:
        """Build the module; without remedies it is ordinary softmax attention.

        Args:
            width: Width of what is read and of what is given out.
            heads: Number of heads.
            key_width: Width of queries and keys of all heads together (default: `width`).
            value_width: Width of the values of all heads together (default: `width`).
            bias: Whether the four projections have bias terms.
            remedies: Remedies of this layer, in order.
            attention_dropout: Applied to the weights.
            resid_dropout: Applied to the output.

        Raises:
            InputError: A width is not a multiple of the number of heads.
        """
        super().__init__()
        key_width = key_width or width
        value_width = value_width or width
        remedies = list(remedies)
        maps = max((one.maps for one in remedies), default=1)
        key_maps = 1 if any(one.shared_keys for one in remedies) else maps
        for field, value, parts in (
            ("key_width", key_width, heads * key_maps),
            ("value_width", value_width, heads),
        ):
            require(value % parts == 0, field, value, f"a multiple of {parts}, the score maps"
                    if parts != heads else f"a multiple of heads = {heads}")  # fmt: skip
        self.heads = heads
        self.maps = maps
        self.key_maps = key_maps
        self.query = Linear(width, key_width, bias=bias)
        self.key = Linear(width, key_width, bias=bias)
        self.value = Linear(width, value_width, bias=bias)
        self.output = Linear(value_width, width, bias=bias)
        self.remedies = Remedies(remedies)
        self.attention_dropout = attention_dropout or Dropout()
        self.resid_dropout = resid_dropout or Dropout()

    def acts(self, *hooks: str) -> bool:
        """Whether any remedy does something in one of these hooks.

        Args:
            *hooks: Names of hooks.
        """
        return any(one.acts(*hooks) for one in self.remedies)

    @property
    def by_multiset(self) -> bool:
        """Whether equal keys may be read once with the logarithm of their count."""
        return all(one.by_multiset for one in self.remedies)

    @property
    def by_query(self) -> bool:
        """Whether some of the queries give out in training what they would among all."""
        dropping = self.attention_dropout.active or self.resid_dropout.active
        return not dropping and all(one.by_query for one in self.remedies)

    @property
    def stochastic(self) -> bool:
        """Whether the weights are positive and sum to 1."""
        return all(one.stochastic for one in self.remedies)

    @property
    def dropping(self) -> bool:
        """Whether dropout of the weights is at work."""
        return self.training and self.attention_dropout.active

    def forward(self, x: Tensor, context: Tensor, read: Keys) -> Tensor:
        """Let every row of `x` read the rows of `context` that it sees.

        Args:
            x: `(..., queries, width)`.
            context: `(..., keys, width)`.
            read: What is seen, and where it stands.

        Returns:
            `(..., queries, width)`.
        """
        if len(self.remedies):
            read = replace(read, x=x, context=context)
        # Under `vmap` torch has no kernel on CPUs, but there is one of ours for few keys.
        slow = self.vmapped and x.device.type == "cpu" and not self._short(x, context, read)
        # Only queries as wide as values have a kernel that is faster than all weights at once.
        even = self.maps == 1 or self._query_width == self.value.out_features // self.heads
        free = not self.acts("weights") or self.acts("by_kernel")
        kernel = even and free and not (slow or self.dropping or self.acts("scores"))
        if kernel and not self.acts("queries_keys", "scale"):
            # The kernel scales, which saves a pass over the queries each way.
            queries, keys = self._projected(x, context)
            return self._attend(queries, keys, context, read, self._query_width**-0.5)
        queries, keys = self._queries_keys(x, context, read)
        queries = self.scaled(queries, read)
        if kernel:
            return self._attend(queries, keys, context, read)
        if self.acts("scores"):
            read = replace(read, queries=queries)
        scores = self.scores(queries @ keys.mT, read)
        return self.mix(self.weights(scores, read), context)

    def products(self, x: Tensor, context: Tensor, read: Keys) -> Tensor:
        """What scores are made of, `(..., heads * maps, queries, keys)`; not `scaled` yet.

        Args:
            x: What queries are made of, `(..., queries, width)`.
            context: What keys are made of, `(..., keys, width)`.
            read: What the queries read: positions, counts and masks.
        """
        queries, keys = self._queries_keys(x, context, read)
        return queries @ keys.mT

    def scaled(self, queries: Tensor, read: Keys) -> Tensor:
        """Queries, or anything linear in them, times what remedies scale the scores by.

        Args:
            queries: `(..., heads * maps, queries, any)`.
            read: What the queries read: positions, counts and masks.
        """
        for one in self.remedies:
            factor = one.scale(read)
            queries = queries if factor is None else queries * self._per_map(factor)
        return queries

    def scores(self, products: Tensor, read: Keys) -> Tensor:
        """Scores out of the products of queries and keys, `(..., heads * maps, queries, keys)`.

        Args:
            products: What `products` gave.
            read: What the queries read: positions, counts and masks.
        """
        scores = products
        for bias in (read.bias, self._bias(read)):
            scores = scores if bias is None else scores + self._per_map(bias)
        if self.acts("scores") and read.queries is None and read.context is not None:
            assert read.x is not None
            queries, _ = self._queries_keys(read.x, read.context, read)
            read = replace(read, queries=self.scaled(queries, read))
        for one in self.remedies:
            scores = one.scores(scores, read)
        return scores

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Attention weights `(..., heads, queries, keys)`, before dropout.

        Args:
            scores: What `scores` gave.
            read: What the queries read: positions, counts and masks.
        """
        for one in self.remedies:
            weights = one.weights(scores, read)
            if weights is not None:
                return weights
        return self._combined(softmax(scores, read), read)

    def mix(self, weights: Tensor, context: Tensor) -> Tensor:
        """Mix the values of `context` by weights, and project the mix.

        Args:
            weights: `(..., heads, queries, keys)`.
            context: What values are made of, `(..., keys, width)`.
        """
        weights = self.attention_dropout(weights)
        values = self.value(context)
        direct = self.heads == 1 and self.output.bias is None and not self.acts("mixed")
        if direct and weights.shape[-1] < weights.shape[-2]:
            # With one head and nothing in between, it does not matter whether values are mixed or
            # projected first; there are fewer of them than of queries.
            projected = weights @ self._heads(self.output(values), 1)
            return self._given_out(projected.squeeze(-3))
        return self.finish((weights @ self._heads(values, self.heads)).transpose(-2, -3)).output

    def fold(self, x: Tensor, lift: Tensor) -> Tensor:
        """Queries that compare themselves with the context as it is, without any keys.

        Where few queries read many keys, q . (W_K h) = (W_K^T q) . h is cheaper from the right:
        no key is ever formed. Nor is h, if it is `lift` times something narrower or cheaper: the
        last linear layer of whatever encodes the context can be folded into the query as well.
        Scores are then products of `scaled(fold(x, lift))` with features; this leaves no room for
        remedies that treat queries and keys.

        Args:
            x: `(..., queries, width)`.
            lift: `(width, features)`: the context is `features @ lift.T`.

        Returns:
            `(..., heads * maps, queries, features)`.
        """
        assert not self.acts("queries_keys")
        assert self.key.bias is None
        keys = (self.key.weight @ lift).unflatten(0, (self.heads * self.key_maps, -1))
        if self.key_maps < self.maps:
            keys = keys.repeat_interleave(self.maps, 0)
        queries = self._queries(x) * self._query_width**-0.5
        return torch.einsum("...hqd,hdf->...hqf", queries, keys)

    def unfold(self, mixed: Tensor, lift: Tensor) -> Tensor:
        """The values' mix out of the mix of features: W_V sum a h = W_V lift (sum a features).

        Args:
            mixed: `(..., heads, queries, features)`.
            lift: As in `fold`.

        Returns:
            `(..., queries, heads, value width of a head)`, which `finish` takes.
        """
        values = (self.value.weight @ lift).unflatten(0, (self.heads, -1))
        return torch.einsum("...hqf,hvf->...hqv", mixed, values).transpose(-2, -3)

    def finish(self, mixed: Tensor) -> "AttentionOutput":
        """Project a mix of values, `(..., queries, heads, value width of a head)`.

        Args:
            mixed: The mix.
        """
        treated = mixed
        for one in self.remedies:
            treated = one.mixed(treated) if one.acts("mixed") else treated
        projected = self.output(treated.flatten(-2))
        output = projected
        for one in self.remedies:
            output = one.output(output) if one.acts("output") else output
        # A norm stands before or after W_O; what it saw and what it gave are told apart.
        before, after = projected, output
        if self.acts("mixed") and not self.acts("output"):
            before, after = mixed.flatten(-2), treated.flatten(-2)
        return AttentionOutput(before, after, self.resid_dropout(output))

    def _attend(
        self, queries: Tensor, keys: Tensor, context: Tensor, read: Keys, scale: float = 1.0
    ) -> Tensor:
        """Softmax attention in one kernel, which never holds all weights."""
        own = self._bias(read)
        values = self._heads(self.value(context), self.heads)
        if self.maps > 1:
            values = values.repeat_interleave(self.maps, -3)
        short = self._short(queries[:, 0], context, read)
        alone = read.causal and read.asked is None and read.bias is None and own is None
        plain = alone and not (short or self.acts("by_kernel"))
        mask = None if plain else self._per_map(read.mask if own is None else read.mask + own)
        for one in self.remedies:
            treated = None if mask is None else one.by_kernel(keys, values, mask)
            keys, values, mask = treated or (keys, values, mask)
        if short:
            from lengthwise.models.short_reads import read_short  # it loads a compiler

            assert mask is not None
            mixed = read_short(queries, keys, values, mask, scale)
            return self.finish(self._combined(mixed, read).transpose(-2, -3)).output
        if mask is not None and mask.dim() == 3 and queries.dim() == 4:
            mask = mask.unsqueeze(0)  # torch's fast kernel wants two dimensions or four
        heads = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=plain, scale=scale
        )
        return self.finish(self._combined(heads, read).transpose(-2, -3)).output

    def _short(self, x: Tensor, context: Tensor, read: Keys) -> bool:
        """Whether what is read is for the kernel of few keys."""
        few = x.dim() == 3 and context.shape[-2] <= SHORT
        return few and self.vmapped and fast(x, context, read.log_count)

    def _combined(self, maps: Tensor, read: Keys) -> Tensor:
        """What heads make of their maps `(..., heads * maps, queries, any)`."""
        for one in self.remedies:
            if one.acts("combined"):
                return one.combined(maps.unflatten(-3, (self.heads, self.maps)), read)
        return maps

    def _queries_keys(self, x: Tensor, context: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Queries and keys `(..., heads * maps, rows, head width)`; queries are scaled."""
        queries, keys = self._projected(x, context)
        queries = queries * self._query_width**-0.5
        for one in self.remedies:
            queries, keys = one.queries_keys(queries, keys, read)
        return queries, keys

    def _projected(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """The same as they come out of their projections, not scaled."""
        queries, keys = self._queries(x), self._heads(self.key(context), self.heads * self.key_maps)
        if self.key_maps < self.maps:
            keys = keys.repeat_interleave(self.maps, -3)
        return queries, keys

    @property
    def _query_width(self) -> int:
        """Width of a query or key of one map."""
        return self.query.out_features // (self.heads * self.key_maps)

    def _bias(self, read: Keys) -> Tensor | None:
        """The sum of this layer's own biases."""
        total = None
        for one in self.remedies:
            bias = one.bias(read)
            if bias is not None:
                total = bias if total is None else total + bias
        return total

    def _per_map(self, given: Tensor) -> Tensor:
        """What a remedy gives `(..., heads or 1, queries, ...)`, for every score map."""
        if self.maps == 1 or given.dim() < 3 or given.shape[-3] == 1:
            return given
        return given.repeat_interleave(self.maps, -3)

    def _given_out(self, output: Tensor) -> Tensor:
        for one in self.remedies:
            output = one.output(output) if one.acts("output") else output
        dropped: Tensor = self.resid_dropout(output)
        return dropped

    def _queries(self, x: Tensor) -> Tensor:
        queries = self._heads(self.query(x), self.heads * self.key_maps)
        for one in self.remedies:
            if one.shared_keys:
                second = self._heads(one.second_queries(x), self.heads)
                queries = torch.stack([queries, second], -3).flatten(-4, -3)
        return queries

    @staticmethod
    def _heads(rows: Tensor, heads: int) -> Tensor:
        """(..., rows, heads * width) -> (..., heads, rows, width)."""
        return rows.unflatten(-1, (heads, -1)).transpose(-2, -3)


class AttentionOutput(NamedTuple):
    """What attention gives out, and what its norm saw on the way."""

    before_norm: Tensor
    after_norm: Tensor
    output: Tensor
