"""KERPLE in its logarithmic form (arXiv 2205.09921)."""

import torch
from torch import Tensor, nn

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape

LEAST = 0.01


@remedy("kerple")
class Kerple(Remedy):
    """A bias of -p log(1 + a |i - j|) with p and a learned per head and layer (arXiv 2205.09921).

    p starts as U(0, 2) and a as U(0, 1), and neither counts as less than 0.01, all as in the
    authors' code, which writes 0.01 into a weight that has fallen below; here the weight stays
    where it is and keeps its gradient. At lengths beyond training the bias keeps falling, by p for
    every e-fold distance, so weights fall as a power of the distance: slower than ALiBi's, and no
    key is cut off. This is the variant "log", the paper's best; it is not "power",
    -p |i - j|^a, nor one with learned weights besides.
    """

    positional = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Draw p and a."""
        super().__init__(shape)
        self.strength = nn.Parameter(2 * torch.rand(shape.heads, 1, 1))
        self.rate = nn.Parameter(torch.rand(shape.heads, 1, 1))

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        strength, rate = _at_least(self.strength), _at_least(self.rate)
        return -strength * (rate * read.distance.abs()).log1p()


def _at_least(weight: Tensor) -> Tensor:
    """A weight that counts as 0.01 below that, with the gradient that it would have above."""
    return weight + (weight.clamp(min=LEAST) - weight).detach()
