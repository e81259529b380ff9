"""Forgetting gates of the forgetting transformer, FoX (arXiv 2503.02130)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.learned import DEVIATION


@remedy("fox")
class FoX(Remedy):
    """Scores fall by the log of every forget gate between key and query (arXiv 2503.02130).

    Token l has a gate f_l = sigmoid(w . x_l + b) per head, and b(i, j) is the sum of log f_l over
    l = j+1 .. i: ALiBi whose slope the tokens choose. w begins as N(0, 0.02) and b at `start`, 0 as
    in the authors' code (x-transformers has 5, with which little is forgotten at first). Positions
    are not needed, and nothing changes at lengths beyond training but the number of gates: a head
    that forgets reads as far back as it did, one whose gates stay open reads everything. Gates of
    hidden tokens do not count. Where later keys are seen, they are forgotten by the same gates
    (ours; the paper is causal). It is not the "Pro" block of the paper, with its norms, shifts and
    output gate.
    """

    ordered = True
    by_query = True

    def __init__(self, shape: Shape, *, start: float = 0.0) -> None:
        """Draw w, and set b."""
        super().__init__(shape)
        self.gates = nn.Linear(shape.width, shape.heads)
        nn.init.normal_(self.gates.weight, std=DEVIATION)
        nn.init.constant_(self.gates.bias, start)

    @property
    def replaces(self) -> str:
        """The forgetting of keys."""
        return "the forgetting of keys"

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        assert read.context is not None
        opened: Tensor = self.gates(read.context)
        # Long sums would be rounded away in half precision.
        wide = opened.to(torch.promote_types(opened.dtype, torch.float32))
        logs = functional.logsigmoid(wide).mT
        if read.causal:
            total = logs.cumsum(-1)
            own = total if read.asked is None else total[..., read.asked]
            between = own.unsqueeze(-1) - total.unsqueeze(-2)
        else:
            seen = logs.unsqueeze(-2) * (read.log_count > -torch.inf)
            total = seen.cumsum(-1)
            between = -(total.diagonal(dim1=-2, dim2=-1).unsqueeze(-1) - total).abs()
        return between.to(opened.dtype)
