"""Adaptive-scalable entmax (arXiv 2506.16640)."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies._base import remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.entmax import Entmax

DELTA, GAMMA_RANGE = 1.0, 2.0


@remedy("asentmax")
class ASEntmax(Entmax):
    """1.5-entmax of scores times 1 + b (log(n + 1))^g, with b and g read off the query's token.

    b = softplus(w_b . x) and g = 2 tanh(w_g . x), both per head, x what the query is made of; n is
    the number of keys it sees (in the authors' code n + 1 is the position from 0, plus 2). So each
    head learns whether its scores grow or shrink with the length, and keeps to that law at lengths
    that training never reached. The two vectors of a head begin as N(0, 0.02), as in the authors'
    code, or with `start=zero` as 0: every factor begins as 1 + log 2, whatever the length. A public
    replication (jtaylor-eng/asentmax) found ten of ten runs stuck with the first and none of three
    with the second and a longer warm-up. `heads=last` scales the last half of the heads only (a
    single head is scaled), as the paper does beside NAPE, whose first half have ALiBi. Other orders
    than 1.5 and the form with one learned b and g per head are not here.
    """

    by_multiset = False  # it reads x, which is not there where keys are read as a multiset
    excludes = ("scale",)

    def __init__(
        self,
        shape: Shape,
        *,
        start: Literal["normal", "zero"] = "normal",
        heads: Literal["all", "last"] = "all",
    ) -> None:
        """Draw or zero the vectors of b and g."""
        super().__init__(shape)
        self.plain = 0 if heads == "all" else shape.heads // 2
        self.law = nn.Linear(shape.width, 2 * (shape.heads - self.plain), bias=False)
        deviation = 0.02 if start == "normal" else 0.0
        nn.init.normal_(self.law.weight, std=deviation)

    def scale(self, read: Keys) -> Tensor:
        """The factor of every query and head."""
        assert read.x is not None
        strength, power = self.law(read.x).mT.unsqueeze(-1).chunk(2, -3)
        length = (read.count + 1).log()
        grown = length ** (GAMMA_RANGE * power.tanh())
        factor = DELTA + functional.softplus(strength) * grown
        return functional.pad(factor, (0, 0, 0, 0, self.plain, 0), value=1.0)
