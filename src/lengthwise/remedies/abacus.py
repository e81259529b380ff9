"""Abacus: the place of a digit inside its number (arXiv 2405.17399)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Shape
from lengthwise.remedies.learned import DEVIATION


@remedy("abacus")
class Abacus(Remedy):
    """A learned vector for each digit's place inside its number is added (arXiv 2405.17399).

    Digits are the tokens `first` .. `first` + `digits` - 1 (ours: 0 to 9); those that follow one
    another are a number, and its digits have the places 1, 2, ... as they are read, so numbers must
    be written with the least digit first if equal places shall be equally significant. All other
    tokens have place 0. In training the places of all digits of a batch are moved by one draw of
    0 .. `offset` (99 as in the authors' code), so that the vectors of places up to `offset` beyond
    the longest number of training are trained: numbers may be that much longer at test, when
    nothing is moved. Longer inputs than the task has are refused. Vectors begin as N(0, 0.02), as
    all that is added here (ours; the authors' are N(0, 1)). It goes with any positions or with
    none; it is not position coupling, whose ids a task gives.
    """

    per_layer = False
    ordered = True

    key: Tensor
    step: Tensor

    def __init__(self, shape: Shape, *, digits: int = 10, first: int = 0, offset: int = 99) -> None:
        """Draw the vectors, and a key, from torch's generator."""
        super().__init__(shape)
        require(digits >= 1, "abacus:digits", digits, "at least 1")
        require(first >= 0, "abacus:first", first, "at least 0, the number of a token")
        require(offset >= 0, "abacus:offset", offset, "at least 0")
        self.digits = digits
        self.first = first
        self.offset = offset
        self.max_length = shape.max_length
        size = (shape.max_length + offset + 1, shape.width)
        self.vectors = nn.Parameter(torch.randn(size) * DEVIATION)
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    @property
    def replaces(self) -> str:
        """The vectors of digits' places."""
        return "the vectors of digits' places"

    def numbered(self, hidden: Tensor, tokens: Tensor) -> Tensor:
        """Add the vectors of the tokens' places."""
        length, most = tokens.shape[-1], self.max_length
        require(length <= most, "length", length, f"at most {most}, all that have a vector")
        places = self.places(tokens)
        if self.training:
            moved = below(bits(at(self.key, self.step), 1), self.offset + 1)
            self.step.add_(1)
            places = torch.where(places > 0, places + moved, 0)
        return hidden + functional.embedding(places, self.vectors)

    def places(self, tokens: Tensor) -> Tensor:
        """The place of every digit inside its number, from 1, and 0 for all other tokens."""
        digit = (tokens >= self.first) & (tokens < self.first + self.digits)
        here = torch.arange(1, tokens.shape[-1] + 1, device=tokens.device)
        before = torch.where(digit, 0, here).cummax(-1).values
        return here - before
