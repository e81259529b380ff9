"""Norms of queries and keys: scores can be no larger than training makes their scale."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


class QueryKeyNorm(Remedy):
    """Queries and keys are normed within a head before they meet."""

    @property
    def replaces(self) -> str:
        """The length of queries and keys."""
        return "the length of queries and keys"


@remedy("qk-norm")
class QKNorm(QueryKeyNorm):
    """Scores are cosines times g: q and k are divided by their lengths (arXiv 2010.04245).

    s_ij = g q_i . k_j / (|q_i| |k_j|), with a learned g for each head. g starts at 10, which
    x-transformers keeps fixed (`qk_norm_scale`); the paper has one g for all heads and starts it
    from the lengths of its data. All scores lie within g of 0 at any length, so with n keys no
    weight exceeds 1 / (1 + (n - 1) exp(-2 g)): the bound falls as 1/n beyond training, and a
    factor that grows with n mends it (`ssmax`). Not the norm with learned weights per feature:
    that is `qk-rmsnorm`.
    """

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape, *, start: float = 10.0) -> None:
        """Start every head at the same scale.

        Args:
            shape: All that it may be built for.
            start: What g starts at.
        """
        super().__init__(shape)
        self.heads = shape.heads
        self.factor = nn.Parameter(torch.full((shape.heads, 1, 1), start))

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both of length 1, queries times the scale of their head."""
        factor = self.factor.repeat_interleave(queries.shape[-3] // self.heads, 0)
        return functional.normalize(queries, dim=-1) * factor, functional.normalize(keys, dim=-1)


@remedy("qk-rmsnorm")
class QKRMSNorm(QueryKeyNorm):
    """RMSNorm of queries and of keys within a head, with learned weights that heads share.

    s_ij = RMSNorm(q_i) . RMSNorm(k_j) / sqrt(d) with eps 1e-6, as in Qwen3 (arXiv 2505.09388) and
    others of 2025; name it before `rotary`, as they have it. A score lies within sqrt(d) times the
    largest product of two weights of 0, at any length, so weights disperse as with `qk-norm`. Not
    the LayerNorm of ViT-22B (arXiv 2302.05442), nor OLMo 2's norm over all heads at once.
    """

    by_multiset = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Start with weights of 1."""
        super().__init__(shape)
        self.query_norm = nn.RMSNorm(shape.head_width, eps=1e-6)
        self.key_norm = nn.RMSNorm(shape.head_width, eps=1e-6)

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both normed; queries divided by the root of the width again."""
        root = queries.shape[-1] ** 0.5
        return self.query_norm(queries * root) / root, self.key_norm(keys)
