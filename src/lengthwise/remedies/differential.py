"""Differential attention (arXiv 2410.05258)."""

import math

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.remedies._base import Keys, Remedy, Shape, remedy, softmax


@remedy("differential")
class Differential(Remedy):
    """Two softmax maps per head, of which the second is subtracted: A = A_1 - lambda A_2.

    Maps 2i and 2i + 1 belong to head i; a query or key of a map is half as wide as the value, so
    that a model with half the heads costs what the plain one does. lambda = exp(lq1 . lk1) -
    exp(lq2 . lk2) + lambda_init, one number per layer, its four vectors from N(0, 0.1);
    lambda_init = 0.8 - 0.6 exp(-0.3 layer), layers from 0. Heads then go through an RMSNorm whose
    weights they share, and are scaled by 1 - lambda_init. This is the authors' first version, not
    the second one of 2026. Weights may be negative and sum to 1 - lambda: common noise is taken
    out at any length, but the best lambda grows with the number of keys.
    """

    maps = 2
    by_multiset = True
    stochastic = False

    def __init__(self, shape: Shape) -> None:
        """Draw the vectors of lambda."""
        super().__init__(shape)
        value = shape.value_width // shape.heads
        self.start = 0.8 - 0.6 * math.exp(-0.3 * shape.layer)
        self.vectors = nn.Parameter(torch.randn(4, shape.head_width) * 0.1)
        self.norm = nn.RMSNorm(value, eps=1e-5)

    @property
    def share(self) -> Tensor:
        """lambda: how much of the second map is taken away."""
        query_1, key_1, query_2, key_2 = self.vectors.unbind()
        return (query_1 * key_1).sum().exp() - (query_2 * key_2).sum().exp() + self.start

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The difference of the two maps of every head."""
        count = scores.shape[-3]
        require(count % 2 == 0, "score maps", count, "two per head")
        first, second = softmax(scores, read).unflatten(-3, (-1, 2)).unbind(-3)
        return first - self.share * second

    def mixed(self, heads: Tensor) -> Tensor:
        """Norm every head by itself, and scale it."""
        normed: Tensor = self.norm(heads)
        return normed * (1 - self.start)
