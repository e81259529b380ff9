"""Learning What's Missing (arXiv 2510.08341; v2: Post-Norm can Resharpen Attention)."""

from lengthwise.papers.whats_missing.averaging import AVERAGING
from lengthwise.papers.whats_missing.dispersion import DISPERSION
from lengthwise.papers.whats_missing.post_norm import POST_NORM

CLAIMS = (DISPERSION, AVERAGING, POST_NORM)
