"""Stick-breaking attention (arXiv 2410.17980): the nearest key that asks for it gets the weight."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.remedies._base import Keys, Remedy, remedy


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

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The pieces that are broken off, from the key before the query backwards."""
        return self.broken(scores, read)[0].to(scores.dtype)

    def broken(self, scores: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """The pieces, and what is left of every stick, `(..., queries, 1)`."""
        queries, keys = scores.shape[-2:]
        dtype = torch.promote_types(scores.dtype, torch.float32)  # for the sums
        seen = torch.ones(queries, keys, dtype=dtype, device=scores.device)
        seen = seen.tril(keys - queries - 1)
        if not read.causal:
            seen = seen * (read.log_count > -torch.inf)
        pieces, rest = _Broken.apply(scores.to(dtype), seen)
        return pieces, rest


class _Broken(torch.autograd.Function):
    """Pieces and rest of sticks, in a third of the passes that autograd would make."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        # log(1 - sigmoid(s)) = -softplus(s) and log sigmoid(s) = s - softplus(s); summed from the
        # near end, because a difference of long sums would lose the near keys in rounding.
        until = (functional.softplus(scores) * seen).flip(-1).cumsum(-1).flip(-1)
        # Processors are slow at exponentials that underflow; hidden keys might overflow.
        least = math.log(torch.finfo(scores.dtype).tiny)
        return (scores - until).clamp(least, 0.0).exp() * seen, (-until[..., :1]).exp()

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]
    ) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, by_piece: Tensor, by_rest: Tensor) -> tuple[Tensor, None]:
        """A score takes its own piece, and takes from all pieces that are further away."""
        scores, seen, pieces, rest = ctx.saved_tensors
        own = by_piece * pieces
        taken = (own.cumsum(-1) + by_rest * rest) * (scores.sigmoid() * seen)
        return own - taken, None


@remedy("stick-breaking-rest")
class StickBreakingRest(StickBreaking):
    """Stick-breaking whose rest is given to the query's own value, as in the authors' code.

    a_ij as in `stick-breaking` for j < i, and a_ii = prod_{k<i} (1 - sigmoid(s_ik)), so that the
    weights sum to 1. The authors' other form, `attend_current`, in which a query compares itself
    with its own key, is not here. Beyond the training length it does what `stick-breaking` does.
    """

    stochastic = True

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The pieces, with the rest on the diagonal."""
        pieces, rest = self.broken(scores, read)
        queries, keys = scores.shape[-2:]
        own = torch.eye(queries, keys, dtype=pieces.dtype, device=scores.device)
        own = own.roll(keys - queries, -1)
        return (pieces + rest * own).to(scores.dtype)
