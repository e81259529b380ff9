"""Scalable softmax (arXiv 2501.19399): ours, the paper's own, and that of the code of ASEntmax.

All multiply the scores by a learned slope times a logarithm of n, the number of keys that a query
sees, so that softmax divides n^(s z): a score that is far enough ahead keeps its weight at any
length, where plain softmax gives it less and less. They differ in how many slopes there are, where
these start, and by how much n is shifted.
"""

import math

import torch
from torch import Tensor, nn

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


class ScaledByLength(Remedy):
    """The score times what `scale` says of the number of keys."""

    @property
    def replaces(self) -> str:
        """The scale of the scores."""
        return "the scale of the scores"


@remedy("scalable")
class Scalable(ScaledByLength):
    """The score times s log n, with n keys seen and s learned, one for the layer.

    What softmax gives the largest score then stays away from 1/n as n grows, at any length. s
    starts at 1 / log 8, so that a model which reads about eight keys starts as plain softmax does
    (ours). The paper has one s per head (`ssmax`), and also forms with a learned bias beside s
    log n, which are not here.
    """

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Start as plain softmax over eight keys."""
        super().__init__(shape)
        self.slope = nn.Parameter(1 / torch.tensor(8.0).log())

    def scale(self, read: Keys) -> Tensor:
        """The factor s log n."""
        return self.slope * read.count.log()


@remedy("ssmax")
class SSMax(ScaledByLength):
    """The score times s log n, with n keys seen and s learned, one per head and layer.

    This is the paper's form. s starts at 1 over the mean of log n for n up to the longest input of
    training, so that the scores of training begin at the scale of plain softmax on average (ours:
    no source at hand gives the start). Beyond the training length the factor goes on growing with
    log n. The form with a learned bias beside s log n is not here.
    """

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Start at the scale of plain softmax, on average over training."""
        super().__init__(shape)
        longest = max(2, shape.max_train_length)
        mean = math.lgamma(longest + 1) / longest  # of log 1, ..., log n
        self.slope = nn.Parameter(torch.full((shape.heads, 1, 1), 1 / mean))

    def scale(self, read: Keys) -> Tensor:
        """The factor s log n of every head."""
        return self.slope * read.count.log()


@remedy("ssmax-nakanishi")
class SSMaxNakanishi(ScaledByLength):
    """The score times s log(n + 1), with n keys seen, s per head and layer, from N(1, 0.01).

    So it is in the code of ASEntmax (deep-spin/asentmax, scale type `nakanishi`), where n + 1 is
    written as the position from 0, plus 2: no factor is ever 0. It starts much sharper than plain
    softmax does, by log n. Beyond the training length the factor goes on growing.
    """

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Draw the slopes."""
        super().__init__(shape)
        self.slope = nn.Parameter(1 + 0.01 * torch.randn(shape.heads, 1, 1))

    def scale(self, read: Keys) -> Tensor:
        """The factor s log(n + 1) of every head."""
        return self.slope * (read.count + 1).log()
