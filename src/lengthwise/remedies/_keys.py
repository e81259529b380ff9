"""What a remedy may know: the shape it is made for, and what queries read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

Places = slice | Tensor
"""Places of a sequence: evenly spaced ones, or their numbers."""


class Shape(NamedTuple):
    """All that a remedy may be built for."""

    width: int
    """Width of the residual stream."""
    heads: int
    """Heads that mix values."""
    head_width: int
    """Width of a query or key of one score map."""
    value_width: int
    """Width of the values of all heads together."""
    layer: int
    """Number of the layer, from 0; 0 for a remedy that is one for all layers."""
    max_length: int
    """How many position ids there are in the longest input."""
    max_train_length: int
    """The longest input of training."""
    tracks: int = 1
    """How many position ids a token has."""
    crossing: bool = False
    """Whether it is for cross attention: queries and keys are of two sequences."""


@dataclass(frozen=True)
class Keys:
    """All that a remedy may know of what queries read."""

    log_count: Tensor
    """The logarithm of how often each key stands there, which broadcasts to scores
    `(..., heads, queries, keys)`: 0 is an ordinary key, -inf a hidden one, log 3 one that counts
    three times."""
    query_ids: Tensor | None = None
    """Position ids of queries, `(..., queries)`; None where there is no order."""
    key_ids: Tensor | None = None
    """Position ids of keys, `(..., keys)`."""
    x: Tensor | None = None
    """What queries are made of, `(..., queries, width)`; None where keys are read as a multiset
    for many queries at once (`by_multiset`)."""
    context: Tensor | None = None
    """What keys are made of, `(..., keys, width)`; None where no key is formed."""
    queries: Tensor | None = None
    """The queries as keys are compared with them, `(..., heads * maps, queries, head width)`;
    only in `scores`, and None like `context`."""
    bias: Tensor | None = None
    """A bias of the scores that all layers share."""
    causal: bool = False
    """Whether `log_count` says no more than that later keys are hidden."""
    asked: "Places | None" = None
    """At which of the keys' places queries stand, where they do not stand at all of them: then
    `log_count`, `bias` and `query_ids` are those of these queries. Only with `causal`."""
    counted: Tensor | None = None
    """How many keys a query sees, where that is known without counting."""
    made: "dict[str, tuple[tuple[Any, ...], Tensor]]" = field(default_factory=dict, repr=False)
    """What was made of the above, which copies for other layers share."""

    @property
    def count(self) -> Tensor:
        """How many keys a query sees: `(..., queries, 1)`."""
        if self.counted is not None:
            return self.counted
        return self._once("count", _sum_of_counts, self.log_count)

    @property
    def distance(self) -> Tensor:
        """Position of the query minus position of the key, `(..., 1, queries, keys)`."""
        assert self.query_ids is not None
        assert self.key_ids is not None
        return self._once("distance", _differences, self.query_ids, self.key_ids)

    @property
    def mask(self) -> Tensor:
        """What all layers add to the scores: `log_count`, with `bias` if there is one."""
        if self.bias is None:
            return self.log_count
        return self._once("mask", torch.add, self.log_count, self.bias)

    def at(self, asked: "Places") -> "Keys":
        """What the queries at some places read.

        Args:
            asked: Their places among all queries.
        """
        bias, ids = self.bias, self.query_ids
        return Keys(
            self.log_count[..., asked, :],
            None if ids is None else ids[..., asked],
            self.key_ids,
            bias=bias if bias is None or bias.shape[-2] == 1 else bias[..., asked, :],
            causal=self.causal,
            asked=asked,
        )

    def _once(self, name: str, make: Callable[..., Tensor], *sources: Tensor) -> Tensor:
        """What `make` gives, which a copy with the same sources need not make again."""
        kept = self.made.get(name)
        if kept is None or any(
            one is not other for one, other in zip(kept[0], sources, strict=True)
        ):
            kept = self.made[name] = sources, make(*sources)
        return kept[1]


def _sum_of_counts(log_count: Tensor) -> Tensor:
    return log_count.exp().sum(-1, keepdim=True)


def _differences(query_ids: Tensor, key_ids: Tensor) -> Tensor:
    return (query_ids.unsqueeze(-1) - key_ids.unsqueeze(-2)).unsqueeze(-3)


def ids_like(tokens: Tensor) -> Tensor:
    """The usual position ids of tokens `(..., length)`: 0, 1, ..., `(length,)`."""
    return torch.arange(tokens.shape[-1], device=tokens.device)
