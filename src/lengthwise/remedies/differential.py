"""Differential attention, in its first version (arXiv 2410.05258) and its second."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.learned import DEVIATION


@remedy("differential")
class Differential(Remedy):
    """Two softmax maps per head, of which the second is subtracted: A = A_1 - lambda A_2.

    Maps 2i and 2i + 1 belong to head i; a query or key of a map is half as wide as the value, so
    that a model with half the heads costs what the plain one does. lambda = exp(lq1 . lk1) -
    exp(lq2 . lk2) + lambda_init, one number per layer, its four vectors from N(0, 0.1);
    lambda_init = 0.8 - 0.6 exp(-0.3 layer), layers from 0. Heads then go through an RMSNorm whose
    weights they share (eps 1e-5), and are scaled by 1 - lambda_init. Defaults are those of the
    authors' code (microsoft/unilm). Weights may be negative and sum to 1 - lambda: common noise is
    taken out at any length, but the best lambda grows with the number of keys, so one that was
    learned at short inputs takes out too little at long ones; and where the mix has shrunk so far
    that its mean square is near eps, the norm no longer restores it. `norm=none` leaves the norm
    out and keeps the scale: the paper's ablation. This is the first version, not
    `differential-v2`, nor with keys for groups of queries, where the authors' plain code gives
    both maps of a head the same key.
    """

    maps = 2
    by_multiset = True
    by_query = True
    stochastic = False

    def __init__(self, shape: Shape, *, norm: Literal["rms", "none"] = "rms") -> None:
        """Draw the vectors of lambda."""
        super().__init__(shape)
        value = shape.value_width // shape.heads
        self.start = 0.8 - 0.6 * math.exp(-0.3 * shape.layer)
        self.vectors = nn.Parameter(torch.randn(4, shape.head_width) * 0.1)
        self.norm = nn.RMSNorm(value, eps=1e-5) if norm == "rms" else nn.Identity()

    @property
    def share(self) -> Tensor:
        """lambda: how much of the second map is taken away."""
        query_1, key_1, query_2, key_2 = self.vectors.unbind()
        return (query_1 * key_1).sum().exp() - (query_2 * key_2).sum().exp() + self.start

    def combined(self, maps: Tensor, read: Keys) -> Tensor:
        """The difference of the two maps of every head."""
        first, second = maps.unbind(-3)
        return first - self.share * second

    def mixed(self, heads: Tensor) -> Tensor:
        """Norm every head by itself, and scale it."""
        normed: Tensor = self.norm(heads)
        return normed * (1 - self.start)


@remedy("differential-v2")
class DifferentialV2(Remedy):
    """Two softmax maps per head on the same keys and values: A = A_1 - sigmoid(w_h . x_i) A_2.

    The authors' second version of 2026 (microsoft/unilm, Diff-Transformer-V2): queries are doubled,
    maps 2i and 2i + 1 of head i share its key and value, both as wide as without it, and how much
    of the second map is taken off is read off the query's token, per head. There is no norm and no
    lambda_init, so a head is free to give out little. The second queries and w begin as N(0, 0.02)
    (ours). sigmoid is below 1, so common noise is never taken out entirely; but a token may learn
    to take out more where it stands further back. Weights may be negative. Keys are those of the
    head itself; the authors also share them between heads.
    """

    maps = 2
    shared_keys = True
    stochastic = False  # and it reads x, which is not there where keys are read as a multiset

    def __init__(self, shape: Shape) -> None:
        """Draw the second queries and the gate."""
        super().__init__(shape)
        self.second = nn.Linear(shape.width, shape.heads * shape.head_width, bias=False)
        self.gate = nn.Linear(shape.width, shape.heads, bias=False)
        for linear in (self.second, self.gate):
            nn.init.normal_(linear.weight, std=DEVIATION)

    def second_queries(self, x: Tensor) -> Tensor:
        """Queries of the second maps."""
        queries: Tensor = self.second(x)
        return queries

    def combined(self, maps: Tensor, read: Keys) -> Tensor:
        """The first map of every head less what the gate leaves of the second."""
        assert read.x is not None
        first, second = maps.unbind(-3)
        return first - self.gate(read.x).sigmoid().mT.unsqueeze(-1) * second
