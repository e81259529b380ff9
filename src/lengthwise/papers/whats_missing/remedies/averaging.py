"""Claim: averaging the weights with BEMA carries the model further."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import DEFAULT_BEMA, DEFAULT_EMA, SMALLEST_FACTOR, paired_ratio
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.remedies.readings import beyond
from lengthwise.papers.whats_missing.remedies.section import REMEDIES


def evidence(results: Results) -> list[Finding]:
    """Compare every model with the average of its own weights."""
    return [
        Finding(
            f"mean TVD beyond the training length, raw / {kind}{words}",
            paired_ratio(beyond(results, run), beyond(results, run, kind)),
            SMALLEST_FACTOR,
            decides=(run, kind) == ("baseline", DEFAULT_BEMA),
        )
        for run, words in (("baseline", ""), ("norm", ", both with the norm"))
        for kind in (DEFAULT_BEMA, DEFAULT_EMA)
    ]


AVERAGING = Claim(
    name="whats-missing/averaging",
    sentence="BEMA of the weights lowers TVD beyond the training length.",
    source=f"{V1}, EMA stabilization",
    experiment=REMEDIES,
    evidence=evidence,
    place=20,
)
