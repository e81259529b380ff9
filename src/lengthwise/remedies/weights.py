"""What can stand in attention's `weigh` slot: scores in, weights out."""

import torch
from torch import Tensor, nn


class Softmax(nn.Module):
    """Weights that are positive and sum to one over the visible keys."""

    def forward(self, scores: Tensor, visible: Tensor) -> Tensor:
        """Weights `(..., queries, keys)`; see `lengthwise.models.Attention`."""
        return (scores + visible).softmax(-1)


class AdaptiveTemperature(nn.Module):
    """Softmax that sharpens itself where its entropy is high (arXiv 2410.01104).

    With H the entropy of the ordinary weights in nats, scores are multiplied by
    max(1, p(H)) where H > 0.5, p being the polynomial that the paper fitted. It is meant for a
    model that was trained without it.
    """

    POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
    """Highest power first."""

    def forward(self, scores: Tensor, visible: Tensor) -> Tensor:
        """Weights `(..., queries, keys)`."""
        weights = (scores + visible).softmax(-1)
        entropy = torch.special.entr(weights).sum(-1, keepdim=True)
        factor = torch.zeros_like(entropy)
        for coefficient in self.POLYNOMIAL:
            factor = factor * entropy + coefficient
        factor = torch.where(entropy > 0.5, factor.clamp(min=1.0), 1.0)
        return (scores * factor + visible).softmax(-1)


WEIGHINGS = {"softmax": Softmax, "adaptive": AdaptiveTemperature}
