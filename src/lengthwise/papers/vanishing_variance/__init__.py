"""On Vanishing Variance in Transformer Length Generalization (arXiv 2504.02827)."""

from lengthwise.claims import Claim

CLAIMS: tuple[Claim, ...] = ()
