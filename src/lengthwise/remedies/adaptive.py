"""Adaptive temperature (arXiv 2410.01104)."""

import torch
from torch import Tensor

from lengthwise.remedies._base import Keys, Remedy, remedy, softmax


@remedy("adaptive")
class Adaptive(Remedy):
    """Softmax that sharpens itself where its entropy is high.

    With H the entropy of the ordinary weights in nats, scores are multiplied by max(1, p(H)) where
    H > 0.5, p being the polynomial that the paper fitted. It is meant for a model that was trained
    without it (`test_remedies`). The entropy is over keys as they stand, so equal keys are not
    read as one.
    """

    POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
    """Highest power first."""

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Weights `(..., heads, queries, keys)`."""
        plain = softmax(scores, read)
        # The slope of the entropy is infinite at 0, where hidden keys are.
        entropy = torch.special.entr(plain.masked_fill(plain == 0, 1.0)).sum(-1, keepdim=True)
        factor = torch.zeros_like(entropy)
        for coefficient in self.POLYNOMIAL:
            factor = factor * entropy + coefficient
        factor = torch.where(entropy > 0.5, factor.clamp(min=1.0), 1.0)
        return softmax(scores * factor, read)
