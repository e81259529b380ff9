"""Selective attention (arXiv 2410.02703): a token may hide others from all that follow."""

import torch
from torch import Tensor

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys


@remedy("selective")
class Selective(Remedy):
    """s_ij - F_ij, with F_ij = sum_{j<l<i} relu(s_lj of the first head), for all heads.

    A token l whose first head scores an earlier token j above 0 pushes j down for all tokens
    behind l. No token hides itself or the first one, which may stand for the start of the text.
    Nothing is learned beside the first head, which now does two things. F only grows with the
    length, so a token that is hidden stays so at lengths that training never reached, and what is
    left to read need not grow with the input. The paper's pruning of hidden keys, and its loss
    that asks for more of them, are not here.
    """

    ordered = True

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """Scores less what earlier tokens took away."""
        queries, keys = scores.shape[-2:]
        earlier = torch.ones(queries, keys, dtype=torch.bool, device=scores.device)
        earlier = earlier.tril(keys - queries - 1)
        earlier[:, 0] = False
        if not read.causal:
            # A token that no other sees is padding, which hides nothing.
            own = torch.eye(queries, keys, dtype=torch.bool, device=scores.device)
            seen = read.log_count.expand(*read.log_count.shape[:-2], queries, keys)
            others = (seen.masked_fill(own, -torch.inf) > -torch.inf).any(-2, keepdim=True)
            earlier = earlier & others.mT
        first = scores[..., :1, :, :]
        chosen = first.relu().masked_fill(~earlier, 0.0)
        return scores - (chosen.cumsum(-2) - chosen)
