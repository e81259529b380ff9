"""Adaptive temperature (arXiv 2410.01104)."""

import torch
from torch import Tensor

from lengthwise.remedies._base import Remedy, remedy, softmax
from lengthwise.remedies._keys import Keys


@remedy("adaptive")
class Adaptive(Remedy):
    """Softmax that sharpens itself where its entropy is high.

    With H the entropy of the ordinary weights in nats, scores are multiplied by max(1, p(H)) where
    H > 0.5, p being the polynomial that the paper fitted: p(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2
    + 4.917 H - 1.791. It is meant for a model that was trained without it (`test_remedies`).
    Nothing is learned. The factor does not grow without end: p falls above an entropy of 4.4 and is
    below 1 from 5.95 on, so an even spread over more than 383 keys is left as it is, however long
    the input. The entropy is over keys as they stand, so equal keys are not read as one. Not the
    temperature that is learned per length (`ssmax`).
    """

    POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
    """Highest power first."""

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Weights `(..., heads, queries, keys)`."""
        plain = softmax(scores, read)
        # The slope of the entropy is infinite at 0, where hidden keys are.
        least = torch.finfo(plain.dtype).tiny
        entropy = -(plain * plain.clamp(min=least).log()).sum(-1, keepdim=True)
        factor = torch.zeros_like(entropy)
        for coefficient in self.POLYNOMIAL:
            factor = factor * entropy + coefficient
        factor = torch.where(entropy > 0.5, factor.clamp(min=1.0), 1.0)
        return softmax(scores * factor, read)
