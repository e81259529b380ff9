"""NAPE: half of the heads without positions, half with linear biases (arXiv 2506.16640)."""

from typing import Literal

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


@remedy("nape")
class NAPE(Remedy):
    """A bias of -m |i - j| for the first half of the heads, none for the others (2506.16640).

    Slopes m are 1, 1/2, 1/3, ... ("linear", the default of the authors' code) or 1, 1/2, 1/4, ...
    ("exponential"); of an odd number of heads the smaller half has them. Nothing is learned. Beyond
    the training length a head with a bias reads no further back than before, and a head without one
    reads everything, at any length. It is not ALiBi (arXiv 2108.12409), whose heads all have a
    bias and whose slopes are smaller. In the paper the other heads weigh by ASEntmax, which is a
    remedy of its own.
    """

    per_layer = False
    positional = True

    slopes: Tensor

    def __init__(
        self, shape: Shape, *, slopes: Literal["linear", "exponential"] = "linear"
    ) -> None:
        """Fix the slopes; a model of one head has no half.

        Args:
            shape: All that it may be built for.
            slopes: "linear" or "exponential".
        """
        super().__init__(shape)
        require(shape.heads >= 2, "heads", shape.heads, "at least 2 for nape, one of each kind")
        numbers = torch.arange(shape.heads // 2, dtype=torch.float32)
        own = 1 / (numbers + 1) if slopes == "linear" else 2**-numbers
        none = torch.zeros(shape.heads - len(own))
        self.register_buffer("slopes", torch.cat([own, none]).view(-1, 1, 1))

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        return -self.slopes * read.distance.abs()
