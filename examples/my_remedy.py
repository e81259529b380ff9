"""A remedy of one's own: softmax with one more key that holds nothing (off by one)."""

import torch
from torch import Tensor

from lengthwise.remedies import Keys, Remedy, remedy


@remedy("my-off-by-one")
class MyOffByOne(Remedy):
    """Weights exp(s_i) / (1 + sum_j exp(s_j)): a head may look at nothing."""

    stochastic = False  # they sum to less than 1
    by_multiset = True  # nothing depends on where a key stands

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The softmax over all keys and one score of 0, which is left out of the mix."""
        seen = scores + read.log_count
        total = seen.logsumexp(-1, keepdim=True)
        return (seen - total.logaddexp(torch.zeros_like(total))).exp()
