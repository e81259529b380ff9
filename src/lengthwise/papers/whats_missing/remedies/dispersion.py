"""Claim: attention dispersion makes the minimal transformer fail beyond its training length."""

import polars

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.readings import SMALLEST_FACTOR, by_seed, paired_ratio, slope
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.remedies import readings
from lengthwise.papers.whats_missing.remedies.section import REMEDIES


def evidence(results: Results) -> list[Finding]:
    """Read both halves of the claim off the baseline, within each seed."""
    trained, longest = results.recipe.max_train_length, results.recipe.task.lengths[-1]
    displacement = readings.curves(results, "baseline", "displacement")
    slopes = [
        -slope(group["length"], group["value"])
        for _, group in displacement.group_by("seed", maintain_order=True)
    ]
    tvd = readings.curves(results, "baseline", "tvd")
    short, long = (
        by_seed(tvd.filter(polars.col("length") == length)) for length in (trained, longest)
    )
    return [
        Finding(
            "rate k at which the displacement falls with the length, as 1/length^k (theorem: 1)",
            estimate(slopes),
            smallest=0.1,
        ),
        Finding(
            f"TVD at length {longest} / TVD at the training length {trained}",
            paired_ratio(long, short),
            SMALLEST_FACTOR,
        ),
    ]


DISPERSION = Claim(
    name="whats-missing/dispersion",
    sentence=(
        "Without a remedy, the displacement of the seen tokens falls as the input grows, and TVD "
        "rises beyond the training length."
    ),
    source=f"{V1}, Theorem 4.2 and attention dispersion",
    experiment=REMEDIES,
    evidence=evidence,
    place=10,
)
