"""On Vanishing Variance in Transformer Length Generalization (arXiv 2504.02827)."""

from lengthwise.claims import Claim
from lengthwise.papers.vanishing_variance.condition import CONDITION
from lengthwise.papers.vanishing_variance.figure_1 import FIGURE_1
from lengthwise.papers.vanishing_variance.norm_decay import NORM_DECAY
from lengthwise.papers.vanishing_variance.proposition_1 import PROPOSITION_1

CLAIMS: tuple[Claim, ...] = (PROPOSITION_1, CONDITION, NORM_DECAY, FIGURE_1)
