"""What can stand in attention's `norm` slot, by name: made for a width and a number of heads."""

import torch
from torch import Tensor, nn

from lengthwise.errors import require


class PerHeadNorm(nn.Module):
    """Mean 0 and variance 1 within every head, then a learned scale and shift.

    It belongs before the output projection, which mixes the heads.
    """

    def __init__(self, width: int, heads: int) -> None:
        """Make a norm for `heads` heads that are `width` wide together."""
        super().__init__()
        self.norm = nn.GroupNorm(heads, width)

    def forward(self, output: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        normed: Tensor = self.norm(output.flatten(0, -2))
        return normed.view_as(output)


class BatchNorm(nn.Module):
    """Mean 0 and variance 1 per feature over the batch, then a learned scale and shift.

    Outside training the running mean and variance of the training batches are used, so lengths
    never trained on are measured by the statistics of those that were. It computes what
    `torch.nn.BatchNorm1d` does, which `vmap` cannot follow because it counts its batches.
    """

    mean: Tensor
    variance: Tensor

    MOMENTUM = 0.1
    EPSILON = 1e-5

    def __init__(self, width: int) -> None:
        """Make a norm for `width` features."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, output: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        if self.training:
            rows = output.flatten(0, -2)
            require(len(rows) >= 2, "batch", len(rows), "at least 2 for a variance over it")
            mean, variance = rows.mean(0), rows.var(0, unbiased=False)
            with torch.no_grad():
                unbiased = variance * (len(rows) / (len(rows) - 1))
                self.mean.mul_(1 - self.MOMENTUM).add_(mean * self.MOMENTUM)
                self.variance.mul_(1 - self.MOMENTUM).add_(unbiased * self.MOMENTUM)
        else:
            mean, variance = self.mean, self.variance
        return (output - mean) * (variance + self.EPSILON).rsqrt() * self.weight + self.bias


def layer_norm(width: int, heads: int) -> nn.Module:
    """Mean 0 and variance 1 per position, then a learned scale and shift (arXiv 2504.02827)."""
    return nn.LayerNorm(width)


def standardization(width: int, heads: int) -> nn.Module:
    """LayerNorm without the learned scale and shift: the ablation of arXiv 2504.02827."""
    return nn.LayerNorm(width, elementwise_affine=False)


def rms_norm(width: int, heads: int) -> nn.Module:
    """Root mean square 1 per position, then a learned scale; the mean is kept."""
    return nn.RMSNorm(width, eps=1e-5)


def batch_norm(width: int, heads: int) -> nn.Module:
    """See `BatchNorm`."""
    return BatchNorm(width)


def no_norm(width: int, heads: int) -> nn.Module:
    """Nothing: the attention output as it is."""
    return nn.Identity()


NORMS = {
    "none": no_norm,
    "layernorm": layer_norm,
    "standardization": standardization,
    "rmsnorm": rms_norm,
    "layernorm-per-head": PerHeadNorm,
    "batchnorm": batch_norm,
}
