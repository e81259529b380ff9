"""Sparse weights: sparsemax (arXiv 1602.02068) and 1.5-entmax (arXiv 1905.05702)."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.operations import fill
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys
from lengthwise.remedies._vmap import models_first


class Sparse(Remedy):
    """Weights max(0, z_j - tau)^p, with tau such that they sum to 1."""

    by_multiset = True
    by_query = True

    squared: ClassVar[bool]
    """Whether p = 2 (1.5-entmax) instead of 1 (sparsemax)."""

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Exact weights; a key that counts three times is read three times."""
        count = read.log_count.exp().to(scores.dtype)
        weights: Tensor = SparseWeights.apply(scores, count, self.squared)
        return weights


@remedy("entmax")
class Entmax(Sparse):
    """1.5-entmax (arXiv 1905.05702): a_ij = max(0, s_ij / 2 - tau_i)^2; tau_i makes their sum 1.

    It maximizes p . s plus the Tsallis entropy of order 1.5, so it stands between softmax (order
    1) and sparsemax (2). A key that is more than 2 below the largest score has no weight at all:
    keys which are added far below change nothing, so the weights need not spread as inputs grow,
    where softmax's must. But nor has such a key a gradient, and n keys within noise of one another
    still share the weight. Found exactly, not by bisection to some depth. No learned order (arXiv
    1909.00015); a scale that grows with the length is in `asentmax`.
    """

    squared = True


@remedy("sparsemax")
class Sparsemax(Sparse):
    """Sparsemax: a_ij = max(0, s_ij - tau_i), with tau_i such that the weights sum to 1.

    The nearest point of the simplex to the scores. A key that is more than 1 below the largest
    score has no weight, and so no gradient; keys that are added below change nothing, at any
    length. Found exactly.
    """

    squared = False


class SparseWeights(torch.autograd.Function):
    """Weights of scores `(..., keys)` with counts that broadcast to them, and their gradient."""

    @staticmethod
    def forward(scores: Tensor, count: Tensor, squared: bool) -> Tensor:
        """On a processor by compiled rows, elsewhere by sorting."""
        if scores.device.type != "cpu" or torch.compiler.is_compiling():
            return by_sorting(scores, count, squared)
        given, counts = _rows(scores), _rows_of_counts(count, scores)
        weights = torch.empty_like(given)
        fill(_fill_weights, (given, counts), (weights,), squared, torch.finfo(given.dtype).eps)
        return weights.view(scores.shape).to(scores.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, bool], output: Tensor) -> None:
        """The weights say all about the scores that the gradient needs."""
        _, count, ctx.squared = inputs
        ctx.save_for_backward(output, count)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """S (g - sum s g / sum s), with s the slope of every weight in its own score."""
        weights, count = ctx.saved_tensors
        return SparseGradient.apply(gradient, weights, count, ctx.squared), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One more axis in front."""
        return SparseWeights.apply(*models_first(info.batch_size, in_dims, inputs)), 0


class SparseGradient(torch.autograd.Function):
    """The gradient of the scores; it has none of its own."""

    @staticmethod
    def forward(gradient: Tensor, weights: Tensor, count: Tensor, squared: bool) -> Tensor:
        """On a processor by compiled rows."""
        if weights.device.type != "cpu" or torch.compiler.is_compiling():
            slope = (weights * count).sqrt() if squared else count * (weights > 0)
            mean = (slope * gradient).sum(-1, keepdim=True) / slope.sum(-1, keepdim=True)
            return slope * (gradient - mean)
        given, kept, counts = _rows(gradient), _rows(weights), _rows_of_counts(count, weights)
        pulled = torch.empty_like(given)
        fill(_fill_pulled, (given, kept, counts), (pulled,), squared)
        return pulled.view(weights.shape).to(weights.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing to keep."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One more axis in front."""
        return SparseGradient.apply(*models_first(info.batch_size, in_dims, inputs)), 0


def _fill_weights(
    given: Tensor, counts: Tensor, weights: Tensor, squared: float, epsilon: float
) -> None:
    from lengthwise.remedies._sparse_rows import weigh  # it takes Numba

    weigh(given.numpy(), counts.numpy(), bool(squared), epsilon, weights.numpy())


def _fill_pulled(
    given: Tensor, kept: Tensor, counts: Tensor, pulled: Tensor, squared: float
) -> None:
    from lengthwise.remedies._sparse_rows import pull_back

    pull_back(given.numpy(), kept.numpy(), counts.numpy(), bool(squared), pulled.numpy())


def by_sorting(scores: Tensor, count: Tensor, squared: bool) -> Tensor:
    """The same weights by sorting every row, as the papers find them."""
    count = count.expand_as(scores)
    hidden = count == 0
    shifted = scores.masked_fill(hidden, -torch.inf)
    shifted = shifted - shifted.amax(-1, keepdim=True)
    shifted = shifted / 2 if squared else shifted
    ranked, order = shifted.sort(-1, descending=True)
    often = count.gather(-1, order)
    finite = ranked.masked_fill(often == 0, 0.0)
    total, mean = often.cumsum(-1), (often * finite).cumsum(-1)
    if squared:
        mean = mean / total
        spread = (often * finite.square()).cumsum(-1) - total * mean.square()
        tau = mean - ((1 - spread) / total).clamp(min=0.0).sqrt()
        inside = (tau <= ranked) & (often > 0)
    else:
        tau = (mean - 1) / total
        inside = (tau < ranked) & (often > 0)
    last = inside.sum(-1, keepdim=True) - 1
    rest = (shifted - tau.gather(-1, last)).clamp(min=0.0)
    return count * (rest.square() if squared else rest)


def _rows(values: Tensor) -> Tensor:
    """As a matrix that Numba can read, which knows no bfloat16."""
    dtype = torch.promote_types(values.dtype, torch.float32)
    return values.detach().to(dtype).reshape(-1, values.shape[-1]).contiguous()


def _rows_of_counts(count: Tensor, scores: Tensor) -> Tensor:
    """Counts as rows that are used in turn: those of the queries, if all sequences share them."""
    count = count.expand(*count.shape[:-1], scores.shape[-1])
    if count.shape[:-2].numel() > 1:
        count = count.expand_as(scores)
    return _rows(count)
