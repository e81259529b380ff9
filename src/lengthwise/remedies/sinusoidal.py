"""Sines and cosines of the position, added to the embedded tokens (arXiv 1706.03762)."""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Shape
from lengthwise.remedies.learned import DEVIATION
from lengthwise.remedies.rotary import angles, frequencies


@remedy("sinusoidal")
class Sinusoidal(Remedy):
    """Sines and cosines of the position, added to the tokens (arXiv 1706.03762).

    Feature i of the first half is sin(id * 10000^(-i / pairs)) and feature i of the second half the
    cosine of the same, from one period per 2 pi to one per 20000 pi (the paper has them as
    neighbours, which for learned weights is the same). They are as large as learned vectors are at
    the start, so that they do not drown the tokens (ours; the original scales the tokens up
    instead). Nothing is learned per position, and any length can be read; beyond the training
    length the slow waves reach values that training never saw. It is not the variant with a learned
    scale.
    """

    per_layer = False
    positional = True

    def __init__(self, shape: Shape) -> None:
        """Check the width, of which two features share a frequency."""
        super().__init__(shape)
        require(shape.width % 2 == 0, "width", shape.width, "even, for pairs of sine and cosine")
        self.width = shape.width

    @property
    def replaces(self) -> str:
        """The vectors of positions."""
        return "the vectors of positions"

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Add the waves at `ids`."""
        turned = angles(ids, frequencies(self.width // 2, ids.device), hidden)
        waves = torch.cat([turned.sin(), turned.cos()], -1).to(hidden.dtype)
        return hidden + waves * (DEVIATION * 2**0.5)
