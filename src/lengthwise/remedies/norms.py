"""Norms after attention, before or after the output projection W_O.

As inputs grow, the mix of values loses its variance over samples (arXiv 2504.02827): a norm of the
features of one position gives every output the same size again, at any length, noise included.
None of these depends on the length of the input; batch norm uses the statistics of the lengths it
was trained on. They stand on the side of the residual stream; norms of the stream itself are the
layouts of a GPT (`layout="post"`, `"sandwich"`).
"""

from typing import Literal

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Shape

Place = Literal["before", "after"]


class Norm(Remedy):
    """A norm of the attention output; a subclass says which."""

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape, *, place: Place = "after") -> None:
        """Stand `place` W_O: after it the norm is as wide as the model, before it as the values."""
        super().__init__(shape)
        self.place = place
        self.norm = self.make(shape.width if place == "after" else shape.value_width)

    def make(self, width: int) -> nn.Module:
        """The norm of so many features."""
        raise NotImplementedError

    @property
    def replaces(self) -> str:
        """The norm at its place."""
        return f"the norm {self.place} W_O"

    def acts(self, *hooks: str) -> bool:
        """As a norm, only at its place."""
        place = "mixed" if self.place == "before" else "output"
        others = [hook for hook in hooks if hook not in ("mixed", "output")]
        return place in hooks or super().acts(*others)

    def mixed(self, heads: Tensor) -> Tensor:
        """Norm the values of all heads together."""
        normed: Tensor = self.norm(heads.flatten(-2))
        return normed.view_as(heads)

    def output(self, output: Tensor) -> Tensor:
        """Norm the output."""
        normed: Tensor = self.norm(output)
        return normed


@remedy("layernorm")
class LayerNorm(Norm):
    """Mean 0 and variance 1 per position, then a learned scale and shift: the remedy of 2504.02827.

    y = g (x - mean(x)) / sqrt(var(x) + 1e-5) + b over the features of one position; g starts at 1,
    b at 0. Beyond the training length the output keeps the size that training knew; what the mix
    tends to, its mean over inputs, takes a growing share of it. By default it stands after W_O,
    `place=before` before it. Not a norm of the residual stream, nor one per head.
    """

    def make(self, width: int) -> nn.Module:
        """Torch's own."""
        return nn.LayerNorm(width)


@remedy("standardization")
class Standardization(Norm):
    """LayerNorm without the learned scale and shift: the ablation of arXiv 2504.02827.

    y = (x - mean(x)) / sqrt(var(x) + 1e-5) over the features of one position, so every output has
    the same mean and variance at every length, trained or not.
    """

    def make(self, width: int) -> nn.Module:
        """Torch's own."""
        return nn.LayerNorm(width, elementwise_affine=False)


@remedy("rmsnorm")
class RMSNorm(Norm):
    """Root mean square 1 per position, then a learned scale; the mean is kept (arXiv 1910.07467).

    y = g x / sqrt(mean(x^2) + 1e-5) over the features of one position; g starts at 1. Where the mix
    of a very long input has shrunk so far that its mean square is near 1e-5, the norm no longer
    restores it. Not the form that takes the mean square of a part of the features.
    """

    def make(self, width: int) -> nn.Module:
        """Torch's own."""
        return nn.RMSNorm(width, eps=1e-5)


@remedy("layernorm-per-head")
class LayerNormPerHead(Norm):
    """Mean 0 and variance 1 within every head before W_O, then a learned scale and shift.

    LayerNorm over the features of one head, with a scale (from 1) and shift (from 0) for every
    feature of all heads: the norm of groups that retention (arXiv 2307.08621) and SUPRA (arXiv
    2405.06640) put behind heads. A head that says little is as loud as the others, at any length.
    Not shared between heads, as in differential attention.
    """

    def __init__(self, shape: Shape, *, place: Place = "before") -> None:
        """Stand before W_O, which mixes the heads.

        Args:
            shape: All that it may be built for.
            place: "before", and nothing else: after W_O heads are mixed.
        """
        expected = "before: after W_O the heads are mixed"
        require(place == "before", "layernorm-per-head:place", place, expected)
        self._heads = shape.heads
        super().__init__(shape, place=place)

    def make(self, width: int) -> nn.Module:
        """A norm of groups, which are the heads."""
        return RowsGroupNorm(self._heads, width)


class RowsGroupNorm(nn.GroupNorm):
    """A norm of groups of the last axis, which torch has for the second one only."""

    def forward(self, rows: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        return super().forward(rows.flatten(0, -2)).view_as(rows)


@remedy("batchnorm")
class BatchNorm(Norm):
    """Mean 0 and variance 1 per feature over the batch, then a learned scale and shift.

    y = g (x - m) / sqrt(v + 1e-5) with m and v over all positions of the batch (arXiv 1502.03167),
    and outside training those of training, kept with momentum 0.1: torch's defaults. So lengths
    that training never reached are measured by the means and variances of those that it did: an
    output whose variance vanishes is not restored. Over sequences it mixes later tokens into
    earlier ones in training, which causal models refuse.
    """

    causal = False
    by_query = False

    def make(self, width: int) -> nn.Module:
        """One that a fleet can train."""
        return FleetBatchNorm(width)


class FleetBatchNorm(nn.Module):
    """What `torch.nn.BatchNorm1d` computes, which `vmap` cannot follow: it counts its batches.

    Outside training the running mean and variance of the training batches are used, so lengths
    never trained on are measured by the statistics of those that were.
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
