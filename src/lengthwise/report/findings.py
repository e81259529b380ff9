"""All numbers behind verdicts as one table, for those who want to compute with them."""

from collections.abc import Sequence

import polars

from lengthwise.claims import Verdict


def findings_table(verdicts: Sequence[Verdict]) -> polars.DataFrame:
    """A row per finding, with the verdict of the claim it belongs to."""
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
                "smallest": finding.smallest,
                "outcome": finding.outcome if finding.decides else "shown beside",
            }
            for verdict in verdicts
            for finding in verdict.findings
        ]
    )
