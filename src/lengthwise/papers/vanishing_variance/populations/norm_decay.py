"""Claim: a norm after attention reduces the decay of the variance but does not remove it."""

import math
from collections.abc import Sequence

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.vanishing_variance.populations import (
    COUNTS,
    POPULATION,
    Kind,
    decay_rate,
    deviations,
    population,
    seeds,
)

SMALLEST_FACTOR = 1.05
"""A deviation that is kept better by less than 5 % would not matter. Ours."""

SMALLEST_RATE = 0.1
"""A slower fall than 1/N^0.1 would count as removed. Ours."""


def evidence(results: Results) -> Sequence[Finding]:
    """What is left of the deviation at the largest N, with the norm and without."""
    kinds: dict[Kind, str] = {
        "centred": "E[V] = 0",
        "shifted": "E[V] not 0",
        "level": "limit equal in all features",
    }
    kept_better, still_falls = [], []
    for kind, words in kinds.items():
        ratios, rates = [], []
        for seed in seeds(results.scale):
            one = population(kind, seed)
            plain, normed = deviations(one, seed), deviations(one, seed, norm=True)
            ratios.append(math.log(normed[-1] / normed[0] * plain[0] / plain[-1]))
            rates.append(decay_rate(normed))
        kept_better.append(
            Finding(
                f"part of a feature's deviation that is left from N = {COUNTS[0]} to {COUNTS[-1]}, "
                f"with / without the norm, {words}",
                estimate(ratios).exp(),
                SMALLEST_FACTOR,
                decides=kind == "centred",
            )
        )
        still_falls.append(
            Finding(
                f"rate k at which the deviation after the norm falls, as 1/N^k, {words}",
                estimate(rates),
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
    source="arXiv 2504.02827, after Proposition 1",
    experiment=POPULATION,
    evidence=evidence,
)
