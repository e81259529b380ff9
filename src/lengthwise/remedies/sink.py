"""Softmax with a place for what is given to no key: off by one, and a learned sink."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


class WithSink(Remedy):
    """One more score, whose weight is left out of the mix."""

    by_multiset = True
    by_query = True
    stochastic = False

    def sink(self, scores: Tensor) -> Tensor:
        """That score, `(..., heads or 1, 1, 1)`."""
        raise NotImplementedError

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The softmax of all scores and the sink, without the sink's weight."""
        seen = scores + read.log_count
        sink = self.sink(scores).expand(*seen.shape[:-1], 1)
        return torch.cat([seen, sink], -1).softmax(-1)[..., :-1]


@remedy("off-by-one")
class OffByOne(WithSink):
    """a_ij = exp(s_ij) / (1 + sum_j exp(s_ij)): a head may look at nothing.

    Evan Miller's "Attention is off by one" (2023), in x-transformers `attn_add_zero_kv`: one more
    key and value of zeros. Nothing is learned. With n keys of score 0 the sum of weights is
    n / (n + 1): what may be left unread falls with the length, unless scores fall by log n.
    """

    def sink(self, scores: Tensor) -> Tensor:
        """Always 0."""
        return scores.new_zeros(1, 1, 1)

    def by_kernel(
        self, keys: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One more key and value of zeros, which every query sees."""
        every = mask.expand(*mask.shape[:-1], keys.shape[-2])
        keys, values = (functional.pad(rows, (0, 0, 0, 1)) for rows in (keys, values))
        return keys, values, functional.pad(every, (0, 1))


@remedy("sink")
class Sink(WithSink):
    """a_ij = exp(s_ij) / (exp(b) + sum_j exp(s_ij)), with a learned b per head: gpt-oss.

    b starts at 0, as in x-transformers (`attn_head_learned_sink`), so that it starts as
    `off-by-one`; gpt-oss (arXiv 2508.10925) draws it from N(0, 0.02). b does not depend on the
    length: beyond training the sink holds a smaller share against more keys. Not the first tokens
    that trained models use as sinks (arXiv 2309.17453), nor a learned key and value.
    """

    def __init__(self, shape: Shape) -> None:
        """Start at 0."""
        super().__init__(shape)
        self.score = nn.Parameter(torch.zeros(shape.heads, 1, 1))

    def sink(self, scores: Tensor) -> Tensor:
        """That of every head."""
        return self.score
