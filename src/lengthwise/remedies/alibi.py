"""ALiBi: attention with linear biases (arXiv 2108.12409)."""

import torch
from torch import Tensor

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


@remedy("alibi")
class ALiBi(Remedy):
    """A bias of -m |i - j| with a fixed slope m per head: linear biases (arXiv 2108.12409).

    Slopes of h heads, for h a power of two, are 2^(-8/h), 2^(-16/h), ..., 2^-8. For other numbers
    they are those of the next lower power of two, then every second one of the next higher power,
    as in the authors' code. Nothing is learned; beyond the training length the bias keeps
    falling, so a head reads no further back than in training: nothing breaks, and nothing further
    away is found. Keys after the query count by their distance. It is not the variant with learned
    slopes, nor one that leaves some heads without a bias (`nape`).
    """

    per_layer = False
    positional = True

    slopes: Tensor

    def __init__(self, shape: Shape) -> None:
        """Fix the slopes."""
        super().__init__(shape)
        self.register_buffer("slopes", torch.tensor(slopes(shape.heads)).view(-1, 1, 1))

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        return -self.slopes * read.distance.abs()


def slopes(heads: int) -> list[float]:
    """The slope of every head."""
    lower = 1 << (heads.bit_length() - 1)
    own = [2.0 ** (-8 * head / lower) for head in range(1, lower + 1)]
    further = [2.0 ** (-4 * head / lower) for head in range(1, 2 * lower + 1, 2)]
    return own + further[: heads - lower]
