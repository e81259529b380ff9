"""A remedy as a user would write one: queries and keys of length one, times a learned scale."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies import Keys, Remedy, Shape, remedy


@remedy("query-key-norm")
class QueryKeyNorm(Remedy):
    """No score is larger than the scale."""

    by_multiset = True

    def __init__(self, shape: Shape, *, scale: float = 4.0) -> None:
        super().__init__(shape)
        self.scale_of_scores = nn.Parameter(torch.full((shape.heads, 1, 1), scale))

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        return functional.normalize(queries, dim=-1) * self.scale_of_scores, functional.normalize(
            keys, dim=-1
        )
