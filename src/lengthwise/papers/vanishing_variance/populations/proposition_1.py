"""Claim: Proposition 1, the variance of every feature of the attention output vanishes."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.vanishing_variance.populations import (
    COUNTS,
    DRAWS,
    POPULATION,
    SOURCE,
    Kind,
    decay_rate,
    deviations,
    population,
    seeds,
)
from lengthwise.theory import Population, moments

SMALLEST_RATE = 0.45
"""A deviation that falls as 1/N^0.45 or faster counts as the law's 1/N^0.5. Ours."""

SMALLEST_AGREEMENT = 0.98
"""If the formula is right, chance leaves 99.7 % within three standard errors. Ours."""

SMALLEST_LIMIT = 0.99
"""A variance across features that keeps 99 % of its limit has not vanished. Ours."""


def evidence(results: Results) -> Sequence[Finding]:
    """Rate and size of the decay where E[V] = 0."""
    return decay_findings(results, "centred", "E[V] = 0")


def decay_findings(results: Results, kind: Kind, words: str) -> list[Finding]:
    """How fast the deviation falls, and how often the 1/N formulas agree with Monte Carlo."""
    populations = {seed: population(kind, seed) for seed in seeds(results.scale)}
    within = f"share of features and N >= 64 within 3 standard errors of {DRAWS} draws, {words}"
    counts = [count for count in COUNTS if count >= 64]
    agreed = [agreement(one, seed, counts) for seed, one in populations.items()]
    shortest = [agreement(one, seed, counts[:1])[0] for seed, one in populations.items()]
    return [
        Finding(
            f"rate k at which a feature's deviation falls, as 1/N^k (derived: 0.5), {words}",
            estimate([decay_rate(deviations(one, seed)) for seed, one in populations.items()]),
            SMALLEST_RATE,
        ),
        Finding(
            f"variance as predicted: {within}",
            estimate([variances for variances, _ in agreed]),
            SMALLEST_AGREEMENT,
        ),
        Finding(
            f"mean as predicted: {within}",
            estimate([means for _, means in agreed]),
            SMALLEST_AGREEMENT,
        ),
        Finding(
            f"variance as predicted at N = {counts[0]} alone, where the formula is least exact: "
            f"share of features within 3 standard errors, {words}",
            estimate(shortest),
            SMALLEST_AGREEMENT,
            decides=False,
        ),
        Finding(
            f"variance across features at N = {COUNTS[-1]} / its derived limit, {words}",
            estimate([global_variance(one, seed) for seed, one in populations.items()]),
            SMALLEST_LIMIT,
            decides=False,
        ),
    ]


def global_variance(one: Population, seed: int) -> float:
    """The variance across the features of one output at the largest N, over what it tends to."""
    outputs = one.sample(COUNTS[-1], DRAWS, seed)
    return float(outputs.var(1, correction=0).mean()) / one.global_variance_limit


def agreement(one: Population, seed: int, counts: Sequence[int]) -> tuple[float, float]:
    """The share of features and N whose variance, and whose mean, is within 3 standard errors."""
    variances, means = [], []
    for count in counts:
        measured = moments(one.sample(count, DRAWS, seed))
        off = (measured.variance - one.variance(count)).abs() / measured.variance_error
        variances.append(float((off <= 3).double().mean()))
        off = (measured.mean - one.mean(count)).abs() / measured.mean_error
        means.append(float((off <= 3).double().mean()))
    return sum(variances) / len(variances), sum(means) / len(means)


PROPOSITION_1 = Claim(
    name="vanishing-variance/proposition-1",
    sentence=(
        "For a fixed query and items drawn at random with E[V] = 0, the variance of every feature "
        "of the attention output falls to 0, as 1/N."
    ),
    source=f"{SOURCE}; the rate is our derivation",
    experiment=POPULATION,
    evidence=evidence,
)
