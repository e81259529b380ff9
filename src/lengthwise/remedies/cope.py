"""CoPE: contextual positions, counted by what a query looks for (arXiv 2405.18719)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.operations import fill
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies._vmap import models_first


@remedy("cope")
class CoPE(Remedy):
    """Positions that count only the keys a query's gates let through (arXiv 2405.18719).

    With scores s_ij and gates g_ij = sigmoid(s_ij), the position of key j for query i is the sum of
    g_ik over the keys k from j to i, at most `count` - 1; a score gains q_i . e[p], where e is
    learned for whole p, shared by the heads of a layer, begins at 0, and is interpolated linearly
    in between; q_i is the query before it is divided by the root of its width, as in the paper's
    code. `count` = 16 is the default of x-transformers. At lengths beyond training, keys after more
    than `count` - 1 open gates all share the last position. Where later keys are seen, they count
    as well (ours; the paper is causal). It is not the variant whose gates have keys or values of
    their own, nor one with talking heads.
    """

    ordered = True

    def __init__(self, shape: Shape, *, count: int = 16) -> None:
        """Start with no difference between positions."""
        super().__init__(shape)
        require(count >= 2, "cope:count", count, "at least 2")
        self.vectors = nn.Parameter(torch.zeros(count, shape.head_width))

    @property
    def replaces(self) -> str:
        """The positions by context."""
        return "the positions by context"

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """Scores with what positions add."""
        assert read.queries is not None
        queries = read.queries * self.vectors.shape[-1] ** 0.5
        at_whole = queries @ self.vectors.T
        hidden = read.log_count == -torch.inf
        added: Tensor = Positioned.apply(scores, at_whole.to(scores.dtype), hidden, None)
        return added


class Positioned(torch.autograd.Function):
    """Scores `(..., keys)` with what their positions add, out of that of whole ones `(..., count)`.

    Hidden keys, which broadcast to the scores, do not count.
    """

    @staticmethod
    def forward(scores: Tensor, whole: Tensor, hidden: Tensor, _: None) -> Tensor:
        """On a processor by compiled rows."""
        if scores.device.type != "cpu" or torch.compiler.is_compiling():
            return positioned(scores, whole, hidden)
        given = _rows(scores)
        added = torch.empty_like(given)
        unseen = _rows_of_hidden(hidden, scores)
        fill(_fill_added, (given, _rows(whole), unseen), (added,))
        return added.view(scores.shape).to(scores.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """All else is found again."""
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Of scores and of whole positions."""
        to_scores, to_whole = PositionedGradient.apply(gradient, *ctx.saved_tensors, None)
        return to_scores, to_whole, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One more axis in front."""
        return Positioned.apply(*models_first(info.batch_size, in_dims, inputs)), 0


class PositionedGradient(torch.autograd.Function):
    """The gradients of scores and of whole positions; they have none of their own."""

    @staticmethod
    def forward(
        gradient: Tensor, scores: Tensor, whole: Tensor, hidden: Tensor, _: None
    ) -> tuple[Tensor, Tensor]:
        """On a processor by compiled rows."""
        if scores.device.type != "cpu" or torch.compiler.is_compiling():
            with torch.enable_grad():
                leaves = [scores.detach().requires_grad_(), whole.detach().requires_grad_()]
                added = positioned(leaves[0], leaves[1], hidden)
                to_scores, to_whole = torch.autograd.grad(added, leaves, gradient)
            return to_scores, to_whole
        given, own, unseen = _rows(gradient), _rows(scores), _rows_of_hidden(hidden, scores)
        table = _rows(whole)
        to_scores, to_whole = torch.empty_like(own), torch.zeros_like(table)
        fill(_fill_pulled, (given, own, table, unseen), (to_scores, to_whole))
        by_score = to_scores.view(scores.shape).to(scores.dtype)
        return by_score, to_whole.view(whole.shape).to(whole.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing to keep."""

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """One more axis in front."""
        return PositionedGradient.apply(*models_first(info.batch_size, in_dims, inputs)), (0, 0)


def _fill_added(*tensors: Tensor) -> None:
    from lengthwise.remedies._contextual_rows import add_positions  # it takes Numba

    add_positions(*(tensor.numpy() for tensor in tensors))


def _fill_pulled(*tensors: Tensor) -> None:
    from lengthwise.remedies._contextual_rows import pull_back

    pull_back(*(tensor.numpy() for tensor in tensors))


def positioned(scores: Tensor, whole: Tensor, hidden: Tensor) -> Tensor:
    """The same in tensors, for other devices."""
    # Sums of many gates would be rounded away in half precision.
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    gates = wide.masked_fill(hidden, -torch.inf).sigmoid()
    counted = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=whole.shape[-1] - 1)
    below = counted.detach().long()
    share = (counted - below).to(scores.dtype)
    further = functional.pad(whole.diff(dim=-1), (0, 1)).gather(-1, below)
    return torch.addcmul(scores + whole.gather(-1, below), share, further)


def _rows(values: Tensor) -> Tensor:
    """As a matrix that Numba can read, which knows no bfloat16."""
    dtype = torch.promote_types(values.dtype, torch.float32)
    return values.detach().to(dtype).reshape(-1, values.shape[-1]).contiguous()


def _rows_of_hidden(hidden: Tensor, scores: Tensor) -> Tensor:
    """Rows that are used in turn: those of the queries, if all sequences share them."""
    hidden = hidden.expand(*torch.broadcast_shapes(hidden.shape, scores.shape[-2:]))
    if hidden.shape[:-2].numel() > 1:
        hidden = hidden.expand_as(scores)
    return hidden.reshape(-1, scores.shape[-1]).contiguous()
