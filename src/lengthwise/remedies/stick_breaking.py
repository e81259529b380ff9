"""Stick-breaking attention (arXiv 2410.17980): the nearest key that asks for it gets the weight."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys
from lengthwise.remedies._vmap import models_first


@remedy("stick-breaking")
class StickBreaking(Remedy):
    """a_ij = sigmoid(s_ij) prod_{j<k<i} (1 - sigmoid(s_ik)): what nearer keys leave of a stick.

    Only tokens before the query are read, never itself, in any model. What no key takes is
    dropped, as in the code of ASEntmax; `stick-breaking-rest` gives it to the query's own value.
    Nothing is learned, and no positions are needed: a weight depends on nearer keys alone, so keys
    that are added far away change nothing that is read already, at any length. Near keys come
    first, though: what lies n keys back is found only if all between them keep their hands off.
    """

    ordered = True
    stochastic = False

    keeps_rest: ClassVar[bool] = False
    """Whether the rest goes to the query's own value."""

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The pieces that are broken off, from the key before the query backwards."""
        queries, keys = scores.shape[-2:]
        dtype = torch.promote_types(scores.dtype, torch.float32)  # for the sums
        seen = torch.ones(queries, keys, dtype=dtype, device=scores.device)
        seen = seen.tril(keys - queries - 1)
        if not read.causal:
            seen = seen * (read.log_count > -torch.inf)
        pieces: Tensor = _Broken.apply(scores.to(dtype), seen, self.keeps_rest)
        return pieces.to(scores.dtype)


@remedy("stick-breaking-rest")
class StickBreakingRest(StickBreaking):
    """Stick-breaking whose rest is given to the query's own value, as in the authors' code.

    a_ij as in `stick-breaking` for j < i, and a_ii = prod_{k<i} (1 - sigmoid(s_ik)), so that the
    weights sum to 1. The authors' other form, `attend_current`, in which a query compares itself
    with its own key, is not here. Beyond the training length it does what `stick-breaking` does.
    """

    stochastic = True
    keeps_rest = True


class _Broken(torch.autograd.Function):
    """Pieces of sticks, in a third of the passes over memory that autograd would make."""

    @staticmethod
    def forward(scores: Tensor, seen: Tensor, keeps_rest: bool) -> Tensor:
        # log(1 - sigmoid(s)) = -softplus(s) and log sigmoid(s) = s - softplus(s); summed from the
        # near end, because a difference of long sums would lose the near keys in rounding.
        until = functional.softplus(scores, threshold=40.0).mul_(seen).flip(-1).cumsum_(-1).flip(-1)
        rest = (-until[..., 0]).exp()
        # Processors take thirty times as long for exponentials that underflow, so those stop just
        # above it; hidden keys might overflow.
        least = 0.99 * math.log(torch.finfo(scores.dtype).tiny)
        pieces = until.neg_().add_(scores).clamp_(least, 0.0).exp_() * seen
        if keeps_rest:
            _own(pieces).add_(rest)
        return pieces

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, bool], output: Tensor) -> None:
        scores, seen, ctx.keeps_rest = inputs
        ctx.save_for_backward(scores, seen, output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """A score takes its own piece, and takes from all that comes after it."""
        scores, seen, pieces = ctx.saved_tensors
        taken = gradient * pieces
        further = taken.cumsum(-1)
        if ctx.keeps_rest:
            further.add_(_own(taken).unsqueeze(-1))
            _own(taken).zero_()
        return taken.sub_(further.mul_(scores.sigmoid()).mul_(seen)), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One more axis in front."""
        return _Broken.apply(*models_first(info.batch_size, in_dims, inputs)), 0


def _own(weights: Tensor) -> Tensor:
    """Where a query meets its own key: a view, `(..., queries)`."""
    queries, keys = weights.shape[-2:]
    return weights.diagonal(keys - queries, -2, -1)
