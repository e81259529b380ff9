"""What can stand in attention's `score` slot: queries and keys in, scores out.

Queries come divided by the square root of the key width already, so that a score need not know it.
`count` is how many keys a query sees, `(..., queries, 1)`; it is given where `needs_count` asks
for it, and None elsewhere.
"""

import torch
from torch import Tensor, nn


class DotProduct(nn.Module):
    """The usual score, q . k."""

    needs_count = False

    def forward(self, queries: Tensor, keys: Tensor, count: Tensor | None) -> Tensor:
        """Scores `(..., queries, keys)`."""
        return queries @ keys.transpose(-1, -2)


class Constant(nn.Module):
    """Every score is zero, so every visible key gets the same weight: the theorem's attention."""

    needs_count = False

    def forward(self, queries: Tensor, keys: Tensor, count: Tensor | None) -> Tensor:
        """Zeros `(..., queries, keys)`."""
        shape = (*queries.shape[:-1], keys.shape[-2])
        return queries.new_zeros(()).expand(shape)


class LogarithmicTemperature(nn.Module):
    """Scalable softmax: the score times s log n, n keys seen and s learned (arXiv 2501.19399).

    What softmax gives the largest score then stays away from 1/n as n grows. s starts at 1 / log 8,
    so that a model which reads about eight keys starts as plain softmax does (ours).
    """

    needs_count = True

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(1 / torch.tensor(8.0).log())

    def forward(self, queries: Tensor, keys: Tensor, count: Tensor | None) -> Tensor:
        """Scores `(..., queries, keys)`."""
        assert count is not None
        return (queries * (self.slope * count.log())) @ keys.transpose(-1, -2)


SCORES = {"softmax": DotProduct, "constant": Constant, "scalable": LogarithmicTemperature}
