"""What the claims on the grid read out of the tables of runs."""

import numpy as np
import polars

from lengthwise.claims import Results, once
from lengthwise.papers.normalized_attention.grid.plan import SIZES, label

GOOD = 0.9
"""Accuracy above which a model, or a cell on average, counts as good. Ours."""

MEASURE = "exact_match_length_given"
"""The accuracy of the one symbol that is asked for; END, which is easy, does not count."""


@once
def accuracies(results: Results, variant: str, times: int) -> np.ndarray:
    """Accuracy at `times` the training length: `(widths, rates, seeds)`; 0 where it diverged."""
    size = SIZES[results.scale]
    length = polars.col("length") == times * size.length
    found = []
    for width in size.widths:
        rows = results.tables[label(variant, width)].filter(
            polars.col("measure") == MEASURE, length
        )
        rows = rows.sort("model").with_columns(
            polars.when(polars.col("diverged").is_null()).then("value").otherwise(0.0)
        )
        found.append(rows["value"].to_numpy().reshape(len(size.powers), len(size.seeds)))
    return np.stack(found)


def share_by_seed(results: Results, variant: str, times: int) -> np.ndarray:
    """The share of widths and rates with a good model, one for each seed."""
    shares: np.ndarray = (accuracies(results, variant, times) > GOOD).mean((0, 1))
    return shares


def share_of_cells(results: Results, variant: str, times: int) -> float:
    """The share of widths and rates whose mean over seeds is good, as it was published."""
    return float((accuracies(results, variant, times).mean(-1) > GOOD).mean())
