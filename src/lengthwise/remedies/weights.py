"""What can stand in attention's `weigh` slot: scores in, weights out."""

from torch import Tensor, nn


class Softmax(nn.Module):
    """Weights that are positive and sum to one over the visible keys."""

    def forward(self, scores: Tensor, visible: Tensor) -> Tensor:
        """Weights `(..., queries, keys)`; see `lengthwise.models.Attention`."""
        return (scores + visible).softmax(-1)
