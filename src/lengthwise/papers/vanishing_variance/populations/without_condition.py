"""Claim: Proposition 1 does not need its condition E[V] = 0."""

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.populations.population import COUNTS, spreads
from lengthwise.papers.vanishing_variance.populations.proposition_1 import decay_findings
from lengthwise.papers.vanishing_variance.populations.section import POPULATION

ROUNDING = 1e-9
"""What float64 may take off a ratio that is exactly 1."""


def evidence(results: Results) -> list[Finding]:
    """A constant added to all values is added to the output: no variance can change."""
    centred = spreads(results, "centred")
    ratios = [
        min(float((one[n].variance / centred[seed][n].variance).min()) for n in COUNTS)
        for seed, one in spreads(results, "shifted").items()
    ]
    return [
        Finding(
            "variance of a feature where E[V] is not 0 / is 0, same sequences: least over all "
            "features and N, every population",
            every(ratios, "populations"),
            smallest=1 - ROUNDING,
        ),
        *decay_findings(results, "shifted"),
    ]


CONDITION = Claim(
    name="vanishing-variance/condition-not-needed",
    sentence="The variance vanishes at the same rate where E[V] is not 0.",
    source=f"Our derivation, after {ARXIV}, Proposition 1",
    experiment=POPULATION,
    evidence=evidence,
    place=20,
)
