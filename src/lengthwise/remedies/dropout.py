"""Dropout whose masks are addressed by (key, step, element), not consumed from a generator."""

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.randomness import at, bits


class Dropout(nn.Module):
    """Zero each element with probability `rate` in training, and scale up the rest.

    Rate, key and step are buffers, so a fleet's stacked state carries one of each per model: every
    model has its own rate and its own masks, and gets the same masks alone as in any fleet. The key
    is drawn from torch's generator, so `torch.manual_seed` before building a model governs it. The
    step counts the forward passes made in training.
    """

    rate: Tensor
    key: Tensor
    step: Tensor

    def __init__(self, rate: float = 0.0, field: str = "rate") -> None:
        """Make a dropout; `field` is what an error about `rate` calls it."""
        super().__init__()
        require(0.0 <= rate < 1.0, field, rate, "a rate in [0, 1)")
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64))
        # Drawn even where the rate is zero: models that differ only in a rate start out equal.
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.active = rate > 0.0
        """Whether to spend any time at all; a fleet sets it if any of its models has a rate."""

    def forward(self, values: Tensor) -> Tensor:
        """Apply the mask of this step; outside training, give `values` back."""
        if not (self.training and self.active):
            return values
        words = bits(at(self.key, self.step), values.numel()).view(values.shape)
        self.step.add_(1)
        threshold = (self.rate * 2**32 - 2**31).to(torch.int32)
        scale = (1.0 / (1.0 - self.rate)).to(values.dtype)
        return values * ((words >= threshold) * scale)
