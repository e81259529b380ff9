"""Claim: figure 1, the standard deviation of the first layer's attention output falls with N."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.first_layer.plan import CONDITIONS
from lengthwise.papers.vanishing_variance.first_layer.readings import fall, measured
from lengthwise.papers.vanishing_variance.first_layer.section import FIRST_LAYER

SMALLEST_FALL = 0.1
"""A slope of -0.1 halves the deviation over ten doublings of N; less would hardly matter. Ours."""


def evidence(results: Results) -> list[Finding]:
    """The claim rests on the unaltered model with a fixed query; the rest is shown."""
    rate = "rate k at which the deviation falls, as 1/N^k"
    found = []
    for condition in sorted(CONDITIONS, key=lambda one: not one.decides):
        tables = measured(results)[condition]
        if condition.decides:
            over = f"over {len(tables)} query tokens"
            value = estimate([fall(table).mean for table in tables], "query tokens")
        else:
            over, value = f"bootstrap over {tables[0].sequences} sequences", fall(tables[0])
        effect = f"{rate}: {condition}, {over}"
        found.append(Finding(effect, value, SMALLEST_FALL, condition.decides))
    return found


FIGURE_1 = Claim(
    name="vanishing-variance/figure-1",
    sentence=(
        "In a trained language model, the standard deviation over sequences of the first layer's "
        "attention output falls with the input length, for a fixed query token."
    ),
    source=f"{ARXIV}, figure 1; the conditions are ours",
    experiment=FIRST_LAYER,
    evidence=evidence,
    place=40,
)
