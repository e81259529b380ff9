"""Sigmoid attention (arXiv 2409.04431)."""

from torch import Tensor

from lengthwise.remedies._base import Keys, Remedy, remedy


@remedy("sigmoid")
class Sigmoid(Remedy):
    """Every key has a weight of its own: a_ij = sigmoid(s_ij - log n), with n keys seen.

    Keys do not compete. The paper's bias b = -log n keeps the weights' sum near 1 for scores near
    0; its n is the length of the input, ours the number of keys that the query sees, so that no
    token depends on later ones. Beyond the training length a key far ahead loses weight only as
    log n grows past its score, but noise in n other scores adds up to exp(variance / 2) in all, and
    the output to its mean. Weights lie in (0, 1) and do not sum to 1. Nothing is learned. The
    paper's LayerScale and hybrid norm are not here (add `layernorm`); x-transformers' flag
    `attn_sigmoid` has no bias.
    """

    by_multiset = True
    stochastic = False

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Sigmoids; a key that counts three times has three of them."""
        shift = read.count.log()
        if read.causal:
            return (scores + (read.log_count - shift)).sigmoid()
        return (scores - shift).sigmoid() * read.log_count.exp()
