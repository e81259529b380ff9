"""Learning What's Missing (arXiv 2510.08341; v2: Post-Norm can Resharpen Attention)."""

from lengthwise.papers.whats_missing.averaging import AVERAGING
from lengthwise.papers.whats_missing.balance import BALANCE
from lengthwise.papers.whats_missing.dispersion import DISPERSION
from lengthwise.papers.whats_missing.post_norm import POST_NORM
from lengthwise.papers.whats_missing.theorem_4_2a import THEOREM_A
from lengthwise.papers.whats_missing.theorem_4_2b import THEOREM_B
from lengthwise.papers.whats_missing.what_training_finds import WHAT_TRAINING_FINDS

CLAIMS = (
    DISPERSION,
    AVERAGING,
    POST_NORM,
    THEOREM_A,
    THEOREM_B,
    BALANCE,
    WHAT_TRAINING_FINDS,
)
