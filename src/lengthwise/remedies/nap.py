"""NAP and MTE: attention whose mix is normed before W_O (arXiv 2005.09561)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape

EPSILON = 1e-3


class NormedMix(Remedy):
    """LayerNorm, then GELU, over the mix of all heads together, before W_O."""

    by_multiset = True

    def __init__(self, shape: Shape) -> None:
        """Start with torch's own norm."""
        super().__init__(shape)
        self.norm = nn.LayerNorm(shape.value_width)

    def mixed(self, heads: Tensor) -> Tensor:
        """Norm and GELU."""
        normed: Tensor = functional.gelu(self.norm(heads.flatten(-2)))
        return normed.view_as(heads)


@remedy("mte")
class MTE(NormedMix):
    """Softmax attention with LayerNorm and GELU before W_O: the paper's control beside NAP.

    W_O GELU(LayerNorm(sum_j a_ij v_j)). The mix of softmax loses its variance as inputs grow; the
    norm gives it back at any length, and with it the noise. (The paper, which calls it MTE, norms
    the output of W_O once more: add `layernorm`. Its pooling and its BERT layout are not here.)
    """

    @property
    def replaces(self) -> str:
        """The norm before W_O."""
        return "the norm before W_O"


@remedy("nap")
class NAP(NormedMix):
    """Scores are standardized over the keys of a query and used as weights as they are.

    a_ij = g (e_ij - mean_j e) / (std_j e + 0.001) + b over the keys that are seen, with e = q . k
    (not divided by the root of the width), a gain g (from 1) and a shift b (from 0) per head; the
    mix of all heads goes through LayerNorm and GELU before W_O. (The paper norms the output of W_O
    once more: add `layernorm`.) Weights may be negative and sum to b n. The mix grows with the
    square root of n, which the LayerNorm takes out: one key that stands out is found at any length
    if the others are equal; with noise of 0.3 in their scores it is lost sooner than by softmax.
    The paper's NON (no norm of the scores) and its pooling are not here.
    """

    by_multiset = True
    stochastic = False

    def __init__(self, shape: Shape) -> None:
        """Start with gain 1 and shift 0."""
        super().__init__(shape)
        self.gain = nn.Parameter(torch.ones(shape.heads, 1, 1))
        self.shift = nn.Parameter(torch.zeros(shape.heads, 1, 1))
        # The paper's scores are not divided by the root of the width, as ours are.
        self.epsilon = EPSILON * shape.head_width**-0.5

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Standardized scores; a key that counts three times is read three times."""
        count = read.log_count.exp().expand_as(scores)
        total = count.sum(-1, keepdim=True)
        centred = scores - (count * scores).sum(-1, keepdim=True) / total
        variance = (count * centred.square()).sum(-1, keepdim=True) / total
        # A square root has no finite slope at 0, where all scores are equal.
        deviation = torch.where(variance > 0, variance, 1.0).sqrt() * (variance > 0)
        return (self.gain * centred / (deviation + self.epsilon) + self.shift) * count
