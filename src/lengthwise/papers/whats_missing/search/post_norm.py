"""Claim: a norm after attention resharpens it, tested on twins that differ in the norm alone."""

from lengthwise.claims import Claim, Estimate, Finding, Results, drawing, once
from lengthwise.claims.readings import SMALLEST_FACTOR
from lengthwise.papers.whats_missing import V2
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.report.intervals import draw_intervals
from lengthwise.report.style import Figure, new_panels

SPLITS = {"largest_gap": "gaps up to {}", "extra_width": "{} extra dimensions", "steps": "{} steps"}


@once
def effects(results: Results) -> dict[str, Estimate]:
    """How many times lower TVD is with the norm: over all pairs of twins, then by part of them."""
    pairs = readings.twins(readings.trials(results), "norm")
    parts = {
        words.format(value): readings.part(pairs, **{column: value})
        for column, words in SPLITS.items()
        for value in sorted(pairs[column].unique())
    }
    return {n: readings.factor_lower(part) for n, part in {"all pairs": pairs, **parts}.items()}


def evidence(results: Results) -> list[Finding]:
    """All pairs decide; the parts are shown."""
    whole = "mean TVD beyond the training length, without / with LayerNorm after attention"
    return [
        Finding(f"the same, {name}" if place else whole, effect, SMALLEST_FACTOR, decides=not place)
        for place, (name, effect) in enumerate(effects(results).items())
    ]


@drawing(
    "post-norm",
    "Twins that differ in the norm alone: how many times lower TVD beyond the training "
    "length is with it (95 % intervals over pairs, raw weights). Green: it helps; orange: "
    "it harms; grey: neither by 5 % for sure.",
    "Effect of the norm with intervals, by part of the search",
)
def figure(results: Results) -> Figure:
    """The effect of the norm over all pairs and in every part of them."""
    found = effects(results)
    figure, axes = new_panels(6.4, 0.27 * len(found) + 1.1)
    draw_intervals(axes, found, list(found), SMALLEST_FACTOR)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("TVD without / with the norm: right of 1, the norm helps")
    return figure


SEARCH_POST_NORM = Claim(
    name="whats-missing/search-post-norm",
    sentence=(
        "A norm after attention resharpens it: over the whole search, LayerNorm there lowers TVD "
        "beyond the training length."
    ),
    source=f"{V2}, Post-Norm can Resharpen Attention",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(figure,),
    place=140,
)
