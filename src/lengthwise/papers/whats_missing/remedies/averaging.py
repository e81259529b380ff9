"""Claim: averaging the weights with BEMA carries the model further."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.whats_missing import readings
from lengthwise.papers.whats_missing.experiment import REMEDIES


def evidence(results: Results) -> Sequence[Finding]:
    """Compare every model with the average of its own weights."""
    powers = f"EMA power {readings.EMA_POWER}, bias power {readings.BIAS_POWER}"
    findings = []
    for run, weights, what in (
        ("baseline", "bema", f"BEMA ({powers})"),
        ("baseline", "ema", f"plain EMA (power {readings.EMA_POWER})"),
        ("norm", "bema", f"BEMA ({powers}), both with the norm"),
        ("norm", "ema", f"plain EMA (power {readings.EMA_POWER}), both with the norm"),
    ):
        raw = readings.beyond(results, run, "raw")
        averaged = readings.beyond(results, run, weights)
        findings.append(
            Finding(
                f"mean TVD beyond the training length, raw / {what}",
                estimate(readings.log_ratios(raw, averaged)).exp(),
                readings.SMALLEST_FACTOR,
                decides=(run, weights) == ("baseline", "bema"),
            )
        )
    return findings


AVERAGING = Claim(
    name="whats-missing/averaging",
    sentence="BEMA of the weights lowers TVD beyond the training length.",
    source="arXiv 2510.08341v1, EMA stabilization",
    experiment=REMEDIES,
    evidence=evidence,
)
