"""Claim: a norm right after attention undoes the dispersion."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import SMALLEST_FACTOR, paired_ratio
from lengthwise.papers.whats_missing import V2
from lengthwise.papers.whats_missing.remedies.readings import beyond
from lengthwise.papers.whats_missing.remedies.section import REMEDIES


def evidence(results: Results) -> list[Finding]:
    """Compare models of the same seed: same data, same initial weights, with and without norm."""
    return [
        Finding(
            "mean TVD beyond the training length, without / with LayerNorm after attention",
            paired_ratio(beyond(results, "baseline"), beyond(results, "norm")),
            SMALLEST_FACTOR,
        )
    ]


POST_NORM = Claim(
    name="whats-missing/post-norm",
    sentence="LayerNorm after attention lowers TVD beyond the training length.",
    source=f"{V2}, Post-Norm can Resharpen Attention",
    experiment=REMEDIES,
    evidence=evidence,
    place=30,
)
