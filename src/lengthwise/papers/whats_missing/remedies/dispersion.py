"""Claim: attention dispersion makes the minimal transformer fail beyond its training length."""

from collections.abc import Sequence

import polars

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.whats_missing import readings
from lengthwise.papers.whats_missing.experiment import REMEDIES


def evidence(results: Results) -> Sequence[Finding]:
    """Read both halves of the claim off the baseline, within each seed."""
    recipe = readings.recipe_of(results)
    displacement = readings.curves(results, "baseline", "displacement")
    slopes = [
        -readings.log_slope(group["length"].to_numpy(), group["value"].to_numpy())
        for _, group in displacement.group_by("seed", maintain_order=True)
    ]
    at = {
        length: dict(
            readings.curves(results, "baseline", "tvd")
            .filter(polars.col("length") == length)
            .select("seed", "value")
            .iter_rows()
        )
        for length in (recipe.train_length, recipe.vocab - 1)
    }
    rise = readings.log_ratios(at[recipe.vocab - 1], at[recipe.train_length])
    return [
        Finding(
            "rate k at which the displacement falls with the length, as 1/length^k (theorem: 1)",
            estimate(slopes),
            smallest=0.1,
        ),
        Finding(
            f"TVD at length {recipe.vocab - 1} / TVD at the training length {recipe.train_length}",
            estimate(rise).exp(),
            readings.SMALLEST_FACTOR,
        ),
    ]


DISPERSION = Claim(
    name="whats-missing/dispersion",
    sentence=(
        "Without a remedy, the displacement of the seen tokens falls as the input grows, and TVD "
        "rises beyond the training length."
    ),
    source="arXiv 2510.08341v1, Theorem 4.2 and attention dispersion",
    experiment=REMEDIES,
    evidence=evidence,
)
