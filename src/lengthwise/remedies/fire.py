"""FIRE: functional interpolation for relative positions (arXiv 2310.04418)."""

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape

EPSILON = 1e-6


@remedy("fire")
class FIRE(Remedy):
    """A learned function of the distance relative to the query's position (arXiv 2310.04418).

    b(i, j) = f(psi(i - j) / psi(max(L, i))), psi(x) = log(c x + 1), with c and L learned and f an
    MLP of one hidden layer of 32 (ReLU) that gives one number per head; one bias is shared by all
    layers, as in arXiv 2402.09371 (the first paper has one per layer). c starts at 0.1 as in public
    code, and L at the longest input of training (ours; public code has 512). The argument is at
    most 1, and once i > L it is the distance as a share of the position: however long the input, f
    is asked for nothing that training did not show. (With min in place of max, as some public code
    has it, it would grow without bound.) Keys after the query count by their distance. With
    `randomized` positions most queries lie beyond L, as training sees ids of the whole range.
    """

    per_layer = False
    positional = True

    def __init__(self, shape: Shape, *, hidden: int = 32) -> None:
        """Make the MLP with torch's own initialisation.

        Args:
            shape: All that it may be built for.
            hidden: Width of the hidden layer of f.
        """
        super().__init__(shape)
        require(hidden >= 1, "fire:hidden", hidden, "at least 1")
        self.mlp = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, shape.heads))
        self.c = nn.Parameter(torch.tensor(0.1))
        self.threshold = nn.Parameter(torch.tensor(float(shape.max_train_length)))

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        found: Tensor = self.mlp(self.argument(read).unsqueeze(-1))
        return found.squeeze(-4).movedim(-1, -3)

    def argument(self, read: Keys) -> Tensor:
        """What f is taken of: `(..., 1, queries, keys)`."""
        assert read.query_ids is not None
        reach = torch.maximum(self.threshold.abs(), read.query_ids.to(self.c.dtype))
        distance = read.distance.abs().to(self.c.dtype)
        return self._psi(distance) / (self._psi(reach)[..., None, :, None] + EPSILON)

    def _psi(self, x: Tensor) -> Tensor:
        return (self.c.abs() * x + 1).log()
