"""T2R: similarity by learned features in place of the softmax (arXiv 2103.13076)."""

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.norms import RowsGroupNorm

FLOOR = 1e-2
"""The least that is divided by, as in the authors' code."""


class Features(Remedy):
    """Queries and keys as phi(x) = relu(W_h x + b_h), one map per head for both of them."""

    stochastic = False
    excludes = ("scale", "bias", "scores")

    def __init__(self, shape: Shape, *, features: int = 64) -> None:
        """Draw the map as torch's own linear layers are drawn."""
        super().__init__(shape)
        require(features >= 1, f"{self.name}:features", features, "at least 1")
        bound = shape.head_width**-0.5
        weight = torch.empty(shape.heads, features, shape.head_width)
        self.weight = nn.Parameter(weight.uniform_(-bound, bound))
        self.shift = nn.Parameter(torch.empty(shape.heads, 1, features).uniform_(-bound, bound))

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Their features; their products are the similarities."""
        return self.features(queries), self.features(keys)

    def features(self, rows: Tensor) -> Tensor:
        """Phi of rows `(..., heads, rows, head width)`."""
        return (rows @ self.weight.mT + self.shift).relu()


@remedy("t2r")
class T2R(Features):
    """a_ij = phi(q_i) . phi(k_j) / max(0.01, sum_j phi(q_i) . phi(k_j)), phi(x) = relu(W x + b).

    One phi per head and layer, shared by queries (divided by the root of the width) and keys; 64
    features, the default of the authors' code. It is meant for a run that starts from a softmax
    run (`start_from`): all weights are taken over, phi is drawn, and everything is trained on. The
    output is phi(q_i) S_i / phi(q_i) . z_i with sums S_i, z_i over the past, so a recurrent form
    would read any length in constant memory; here it is computed with all weights. Scores cannot
    exceed products of features, so nothing sharpens a weight as n grows: it falls as 1/n, sooner
    than softmax's. Weights sum to 1, or to less where the floor is reached: a query whose features
    are all 0 reads nothing. The random features and the gate of the authors' code are not here.
    """

    by_multiset = True

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Similarities over their sum."""
        similar = scores * read.log_count.exp()
        return similar / similar.sum(-1, keepdim=True).clamp(min=FLOOR)


@remedy("t2r-norm")
class T2RNorm(Features):
    """T2R that norms each head's mix in place of dividing: sum_j phi(q_i) . phi(k_j) v_j.

    A norm of groups, which are the heads (mean 0, variance 1, learned scale and shift), stands
    where the division was, as SUPRA does (arXiv 2405.06640). The sum grows with n, and the norm
    takes that out at any length; weights are no probabilities. SUPRA's decay is not here; its
    rotary positions behind the features are `rotary` named after it, which the division of `t2r`
    would not stand: turned features have negative products.
    """

    by_multiset = True

    def __init__(self, shape: Shape, *, features: int = 64) -> None:
        """Draw the map, and start with torch's own norm.

        Args:
            shape: All that it may be built for.
            features: How many features phi has for each head.
        """
        super().__init__(shape, features=features)
        self.norm = RowsGroupNorm(shape.heads, shape.value_width)

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Similarities as they are."""
        return scores * read.log_count.exp()

    def mixed(self, heads: Tensor) -> Tensor:
        """Norm every head by itself."""
        normed: Tensor = self.norm(heads.flatten(-2))
        return normed.view_as(heads)
