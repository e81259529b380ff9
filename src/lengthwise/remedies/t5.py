"""T5's relative positions: a learned bias per bucket of distances (arXiv 1910.10683)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


@remedy("t5")
class T5(Remedy):
    """A learned bias per head and bucket of distances, one for all layers (arXiv 1910.10683).

    b(i, j) = r[bucket(i - j)]. Of n buckets the first n/2 hold one distance each; the others grow
    with the logarithm, n/2 + floor(n/2 log(2 D / n) / log(2 d / n)), up to the distance d, beyond
    which all distances D are in the last one. 32 buckets and d = 128 are T5's; biases begin as
    N(0, 1 / width), as in its public implementation. At lengths beyond training, distances share
    the buckets of shorter ones; buckets that training never reached keep what they began with. This
    is the causal form: keys after the query count by their distance, where T5's encoder has half of
    the buckets for them. T5 does not divide scores by the root of the width; here that stays.
    """

    per_layer = False
    positional = True

    def __init__(self, shape: Shape, *, buckets: int = 32, max_distance: int = 128) -> None:
        """Draw the biases.

        Args:
            shape: All that it may be built for.
            buckets: How many buckets, the n of the formula.
            max_distance: The distance from which on all share the last bucket.
        """
        super().__init__(shape)
        require(buckets >= 2 and buckets % 2 == 0, "t5:buckets", buckets, "even, at least 2")
        expected = f"more than {buckets // 2}, the distances with a bucket of their own"
        require(max_distance > buckets // 2, "t5:max_distance", max_distance, expected)
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.randn(buckets, shape.heads) * shape.width**-0.5)

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        found = functional.embedding(self.bucket(read.distance.abs()), self.table)
        return found.squeeze(-4).movedim(-1, -3)

    def bucket(self, distance: Tensor) -> Tensor:
        """The number of the bucket of distances of at least 0."""
        count = len(self.table)
        exact = count // 2
        # In float32, as the published code has it: at edges of buckets rounding decides.
        ratio = distance.clamp(min=exact).to(torch.float32) / exact
        further = (ratio.log() / math.log(self.max_distance / exact) * (count - exact)).long()
        return torch.where(distance < exact, distance, (exact + further).clamp(max=count - 1))
