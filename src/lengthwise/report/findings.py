"""All numbers behind verdicts as one table, for those who want to compute with them."""

from collections.abc import Sequence

import polars

from lengthwise.claims import Verdict


def findings_table(verdicts: Sequence[Verdict]) -> polars.DataFrame:
    """A row per finding, with the verdict of its claim; `count` is of what `unit` says."""
    return polars.DataFrame(
        [
            {
                "claim": verdict.claim.name,
                "verdict": verdict.outcome,
                "effect": finding.effect,
                "estimate": finding.estimate.mean,
                "low": finding.estimate.low,
                "high": finding.estimate.high,
                "count": finding.estimate.count,
                "unit": finding.estimate.unit,
                "smallest": finding.smallest,
                "outcome": finding.words,
            }
            for verdict in verdicts
            for finding in verdict.findings
        ]
    )
