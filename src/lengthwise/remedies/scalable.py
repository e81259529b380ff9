"""Scalable softmax (arXiv 2501.19399)."""

import torch
from torch import Tensor, nn

from lengthwise.remedies._base import Keys, Remedy, Shape, remedy


@remedy("scalable")
class Scalable(Remedy):
    """The score times s log n, with n keys seen and s learned, one for the layer.

    What softmax gives the largest score then stays away from 1/n as n grows, at any length. s
    starts at 1 / log 8, so that a model which reads about eight keys starts as plain softmax does
    (ours).
    """

    by_multiset = True

    def __init__(self, shape: Shape) -> None:
        """Start as plain softmax over eight keys."""
        super().__init__(shape)
        self.slope = nn.Parameter(1 / torch.tensor(8.0).log())

    @property
    def replaces(self) -> str:
        """The scale of the scores."""
        return "the scale of the scores"

    def scale(self, read: Keys) -> Tensor:
        """The factor s log n."""
        return self.slope * read.count.log()
