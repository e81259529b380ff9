"""Claim: a norm after attention resharpens it, tested on twins that differ in the norm alone."""

from collections.abc import Sequence

import polars

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.whats_missing import search_readings as readings
from lengthwise.papers.whats_missing.search_experiment import SEARCH


def evidence(results: Results) -> Sequence[Finding]:
    """All pairs of twins, then by gap, width and length of training."""
    table = readings.trials(results)
    pairs = readings.twins(table, "norm")
    found = [
        Finding(
            "mean TVD beyond the training length, without / with LayerNorm after attention",
            readings.factor_lower(pairs),
            readings.SMALLEST_FACTOR,
        )
    ]
    for column, words in (
        ("gap", "gap {}"),
        ("extra", "{} extra dimensions"),
        ("steps", "{} steps"),
    ):
        for value in sorted(pairs[column].unique()):
            found.append(
                Finding(
                    f"the same, {words.format(value)}",
                    readings.factor_lower(pairs.filter(polars.col(column) == value)),
                    readings.SMALLEST_FACTOR,
                    decides=False,
                )
            )
    return found


SEARCH_POST_NORM = Claim(
    name="whats-missing/search-post-norm",
    sentence=(
        "A norm after attention resharpens it: over the whole search, LayerNorm there lowers TVD "
        "beyond the training length."
    ),
    source="arXiv 2510.08341v2, Post-Norm can Resharpen Attention",
    experiment=SEARCH,
    evidence=evidence,
)
