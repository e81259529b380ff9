"""Claim: a norm right after attention undoes the dispersion."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.whats_missing import readings
from lengthwise.papers.whats_missing.experiment import REMEDIES


def evidence(results: Results) -> Sequence[Finding]:
    """Compare models of the same seed: same data, same initial weights, with and without norm."""
    baseline = readings.beyond(results, "baseline", "raw")
    norm = readings.beyond(results, "norm", "raw")
    return [
        Finding(
            "mean TVD beyond the training length, without / with LayerNorm after attention",
            estimate(readings.log_ratios(baseline, norm)).exp(),
            readings.SMALLEST_FACTOR,
        )
    ]


POST_NORM = Claim(
    name="whats-missing/post-norm",
    sentence="LayerNorm after attention lowers TVD beyond the training length.",
    source="arXiv 2510.08341v2, Post-Norm can Resharpen Attention",
    experiment=REMEDIES,
    evidence=evidence,
)
