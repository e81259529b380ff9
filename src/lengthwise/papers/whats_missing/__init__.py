"""Learning What's Missing (arXiv 2510.08341; v2: Post-Norm can Resharpen Attention)."""

from lengthwise.papers.whats_missing.averaging import AVERAGING
from lengthwise.papers.whats_missing.balance import BALANCE
from lengthwise.papers.whats_missing.dispersion import DISPERSION
from lengthwise.papers.whats_missing.figure_1 import FIGURE_1
from lengthwise.papers.whats_missing.figure_2 import FIGURE_2
from lengthwise.papers.whats_missing.figure_3 import FIGURE_3
from lengthwise.papers.whats_missing.figure_4 import FIGURE_4
from lengthwise.papers.whats_missing.figure_5 import FIGURE_5
from lengthwise.papers.whats_missing.post_norm import POST_NORM
from lengthwise.papers.whats_missing.search_averaging import SEARCH_BEMA, SEARCH_EMA
from lengthwise.papers.whats_missing.search_combination import SEARCH_COMBINATION
from lengthwise.papers.whats_missing.search_dropout import SEARCH_DROPOUT
from lengthwise.papers.whats_missing.search_post_norm import SEARCH_POST_NORM
from lengthwise.papers.whats_missing.table_1 import TABLE_1
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
    TABLE_1,
    FIGURE_1,
    FIGURE_2,
    SEARCH_DROPOUT,
    SEARCH_EMA,
    SEARCH_BEMA,
    SEARCH_POST_NORM,
    SEARCH_COMBINATION,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
)
