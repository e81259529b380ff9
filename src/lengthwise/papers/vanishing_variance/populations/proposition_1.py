"""Claim: Proposition 1, the variance of every feature of the attention output vanishes."""

from collections.abc import Callable

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.populations import population as drawn
from lengthwise.papers.vanishing_variance.populations.section import POPULATION

SMALLEST_RATE = 0.45
"""A deviation that falls as 1/N^0.45 or faster counts as the law's 1/N^0.5. Ours."""

SMALLEST_AGREEMENT = 0.98
"""If the formula is right, chance leaves 99.7 % within three standard errors. Ours."""

SMALLEST_LIMIT = 0.99
"""A variance across features that keeps 99 % of its limit has not vanished. Ours."""


def evidence(results: Results) -> list[Finding]:
    """Rate and size of the decay where E[V] = 0."""
    return decay_findings(results, "centred")


def decay_findings(results: Results, kind: drawn.Kind) -> list[Finding]:
    """How fast the deviation falls, and how often the 1/N formulas agree with Monte Carlo."""
    words = drawn.WORDS[kind]
    within = (
        f"share of features and N >= 64 within 3 standard errors of {drawn.DRAWS} draws, {words}"
    )
    counts = [count for count in drawn.COUNTS if count >= 64]

    def finding(
        effect: str,
        value: Callable[[drawn.Spreads], float],
        smallest: float,
        *,
        decides: bool = True,
    ) -> Finding:
        values = [value(one) for one in drawn.spreads(results, kind).values()]
        return Finding(effect, estimate(values, "populations"), smallest, decides)

    def mean(value: Callable[[drawn.Spread], float]) -> Callable[[drawn.Spreads], float]:
        return lambda one: sum(value(one[count]) for count in counts) / len(counts)

    return [
        finding(
            f"rate k at which a feature's deviation falls, as 1/N^k (derived: 0.5), {words}",
            lambda one: drawn.decay_rate([at.deviation for at in one.values()]),
            SMALLEST_RATE,
        ),
        finding(
            f"variance as predicted: {within}",
            mean(lambda at: at.variance_agrees),
            SMALLEST_AGREEMENT,
        ),
        finding(
            f"mean as predicted: {within}", mean(lambda at: at.mean_agrees), SMALLEST_AGREEMENT
        ),
        finding(
            f"variance as predicted at N = {counts[0]} alone, where the formula is least exact: "
            f"share of features within 3 standard errors, {words}",
            lambda one: one[counts[0]].variance_agrees,
            SMALLEST_AGREEMENT,
            decides=False,
        ),
        finding(
            f"variance across features at N = {drawn.COUNTS[-1]} / its derived limit, {words}",
            lambda one: one[drawn.COUNTS[-1]].across,
            SMALLEST_LIMIT,
            decides=False,
        ),
    ]


PROPOSITION_1 = Claim(
    name="vanishing-variance/proposition-1",
    sentence=(
        "For a fixed query and items drawn at random with E[V] = 0, the variance of every feature "
        "of the attention output falls to 0, as 1/N."
    ),
    source=f"{ARXIV}, Proposition 1; the rate is our derivation",
    experiment=POPULATION,
    evidence=evidence,
    place=10,
)
