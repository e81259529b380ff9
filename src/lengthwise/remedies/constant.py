"""The attention of Theorem 4.2 (arXiv 2510.08341): the same weight on every key."""

from torch import Tensor

from lengthwise.remedies._base import Keys, Remedy, remedy


@remedy("constant")
class Constant(Remedy):
    """Every score is zero, so every visible key gets the same weight, at any length."""

    by_multiset = True

    @property
    def replaces(self) -> str:
        """The scores."""
        return "the scores"

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """Zeros, through which queries and keys get a gradient of zero."""
        return scores * 0
