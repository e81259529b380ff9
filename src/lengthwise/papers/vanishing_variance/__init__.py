"""On Vanishing Variance in Transformer Length Generalization (arXiv 2504.02827)."""

from lengthwise.claims import Claim
from lengthwise.papers.vanishing_variance.condition import CONDITION
from lengthwise.papers.vanishing_variance.figure_1 import FIGURE_1
from lengthwise.papers.vanishing_variance.figure_2 import FIGURE_2
from lengthwise.papers.vanishing_variance.figure_3 import FIGURE_3
from lengthwise.papers.vanishing_variance.figure_4 import FIGURE_4
from lengthwise.papers.vanishing_variance.norm_decay import NORM_DECAY
from lengthwise.papers.vanishing_variance.proposition_1 import PROPOSITION_1
from lengthwise.papers.vanishing_variance.standardization import STANDARDIZATION_HELPS_LESS
from lengthwise.papers.vanishing_variance.table_ablation import TABLE_ABLATION
from lengthwise.papers.vanishing_variance.table_accuracy import TABLE_ARGMAX, TABLE_DICTIONARY
from lengthwise.papers.vanishing_variance.table_adaptive import TABLE_ADAPTIVE
from lengthwise.papers.vanishing_variance.where_norm_helps import WHERE_NORM_HELPS

CLAIMS: tuple[Claim, ...] = (
    PROPOSITION_1,
    CONDITION,
    NORM_DECAY,
    FIGURE_1,
    *FIGURE_2,
    *FIGURE_3,
    *FIGURE_4,
    TABLE_ARGMAX,
    TABLE_DICTIONARY,
    STANDARDIZATION_HELPS_LESS,
    TABLE_ABLATION,
    WHERE_NORM_HELPS,
    TABLE_ADAPTIVE,
)
