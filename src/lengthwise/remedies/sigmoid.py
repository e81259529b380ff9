"""Sigmoid attention (arXiv 2409.04431)."""

from torch import Tensor

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys


@remedy("sigmoid")
class Sigmoid(Remedy):
    """Every key has a weight of its own: a_ij = sigmoid(s_ij - log n), with n keys seen.

    Keys do not compete. The paper's bias b = -log n keeps the sum of weights near 1 for scores near
    0; its n is the length of the input, ours the number of keys that the query sees, so that no
    token depends on later ones. Once n exceeds exp(s), a key of score s weighs about exp(s) / n, as
    with softmax: beyond the training length it disperses alike, while many keys of scores near 0
    add up to their mean. Weights lie in (0, 1) and do not sum to 1. Nothing is learned. The paper's
    LayerScale and hybrid norm are not here (add `layernorm`); x-transformers' flag `attn_sigmoid`
    has no bias.
    """

    by_multiset = True
    by_query = True
    stochastic = False

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Sigmoids; a key that counts three times has three of them."""
        shift = read.count.log()
        if read.causal:
            return (scores + (read.log_count - shift)).sigmoid()
        return (scores - shift).sigmoid() * read.log_count.exp()
