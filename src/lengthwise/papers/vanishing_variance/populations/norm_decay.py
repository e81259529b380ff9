"""Claim: a norm after attention reduces the decay of the variance but does not remove it."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.readings import SMALLEST_FACTOR, log_ratios
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.populations import population as drawn
from lengthwise.papers.vanishing_variance.populations.section import POPULATION

SMALLEST_RATE = 0.1
"""A slower fall than 1/N^0.1 would count as removed. Ours."""


def evidence(results: Results) -> list[Finding]:
    """What is left of the deviation at the largest N, with the norm and without."""
    first, last = drawn.COUNTS[0], drawn.COUNTS[-1]
    kept_better, still_falls = [], []
    for kind, words in drawn.WORDS.items():
        found = drawn.spreads(results, kind)
        normed = {seed: one[last].normed / one[first].normed for seed, one in found.items()}
        plain = {seed: one[last].deviation / one[first].deviation for seed, one in found.items()}
        rates = [drawn.decay_rate([at.normed for at in one.values()]) for one in found.values()]
        kept_better.append(
            Finding(
                f"part of a feature's deviation that is left from N = {first} to {last}, "
                f"with / without the norm, {words}",
                estimate(log_ratios(normed, plain), "populations").exp(),
                SMALLEST_FACTOR,
                decides=kind == "centred",
            )
        )
        still_falls.append(
            Finding(
                f"rate k at which the deviation after the norm falls, as 1/N^k, {words}",
                estimate(rates, "populations"),
                SMALLEST_RATE,
                decides=kind == "centred",
            )
        )
    return [*kept_better, *still_falls]


NORM_DECAY = Claim(
    name="vanishing-variance/norm-reduces-decay",
    sentence=(
        "A norm on the attention output reduces the decay of the features' variance, but does not "
        "remove it."
    ),
    source=f"{ARXIV}, after Proposition 1",
    experiment=POPULATION,
    evidence=evidence,
    place=30,
)
