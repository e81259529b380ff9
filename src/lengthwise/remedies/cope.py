"""CoPE: contextual positions, counted by what a query looks for (arXiv 2405.18719)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.remedies._base import Keys, Remedy, Shape, remedy


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
        further = functional.pad(at_whole.diff(dim=-1), (0, 1))
        # Sums of many gates would be rounded away in half precision.
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        gates = wide.masked_fill(read.log_count == -torch.inf, -torch.inf).sigmoid()
        counted = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=len(self.vectors) - 1)
        below = counted.detach().long()
        share = (counted - below).to(scores.dtype)
        added = scores + at_whole.gather(-1, below)
        return torch.addcmul(added, share, further.gather(-1, below))
