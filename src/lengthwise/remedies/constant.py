"""The attention of Theorem 4.2 (arXiv 2510.08341): the same weight on every key."""

from torch import Tensor

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys


@remedy("constant")
class Constant(Remedy):
    """Every score is zero: a_ij = 1/n for each of the n keys that a query sees, at any length.

    The attention with which the theorem bounds how far a minimal transformer generalizes: what it
    reads is the mean of all values, and each key's share falls as 1/n beyond the training length.
    Nothing is learned. It is a theorem's means, not a remedy that its authors advise.
    """

    by_multiset = True

    @property
    def replaces(self) -> str:
        """The scores."""
        return "the scores"

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """Zeros, through which queries and keys get a gradient of zero."""
        return scores * 0
