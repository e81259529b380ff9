"""Claim: which combination of remedies is best; v2's against v1's, and all others shown."""

from lengthwise.claims import Claim, Finding, Results, TopPortion, drawing, once
from lengthwise.claims.readings import SMALLEST_FACTOR
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing import ARXIV
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.report.intervals import draw_intervals
from lengthwise.report.style import Figure, new_panels

FIRST, SECOND = "dropout + BEMA", "norm + EMA"
"""The remedies of the paper's two versions."""


@once
def tops(results: Results) -> dict[str, TopPortion]:
    """The logarithm of TVD in the top portion of every family, best family first."""
    found = {
        str(family): readings.top_tvd(readings.best_weights(rows))
        for (family,), rows in readings.trials(results).group_by("family", maintain_order=True)
    }
    return dict(sorted(found.items(), key=lambda item: item[1].point))


def evidence(results: Results) -> list[Finding]:
    """The two versions' remedies against each other, and every family against the best one."""
    ranked = tops(results)
    best = next(iter(ranked))
    return [
        Finding(
            f"TVD of the top {TOP:.0%} of models, {FIRST} / {SECOND}",
            ranked[FIRST].minus(ranked[SECOND]).exp(),
            SMALLEST_FACTOR,
        ),
        *(
            Finding(
                f"the same, {family} / {best}, the best",
                top.minus(ranked[best]).exp(),
                SMALLEST_FACTOR,
                decides=False,
            )
            for family, top in ranked.items()
            if family != best
        ),
    ]


@drawing(
    "combination",
    f"TVD of the top {TOP:.0%} of models of every combination of remedies, ranked within "
    "each training length, which count equally, with 95 % bootstrap intervals over pairs. "
    "Averages enter with the powers that suit each trial best.",
    "TVD of the top portion per combination of norm, dropout and averaging",
)
def figure(results: Results) -> Figure:
    """TVD of the top portion of every family, with intervals."""
    effects = {family: top.estimate().exp() for family, top in tops(results).items()}
    figure, axes = new_panels(7.6, 4.4)
    draw_intervals(axes, effects, list(effects))
    axes.set_xlabel("TVD beyond the training length (geometric mean)")
    axes.set_title(f"The top {TOP:.0%} of every family")
    return figure


SEARCH_COMBINATION = Claim(
    name="whats-missing/search-combination",
    sentence=(
        "The remedies of the paper's second version, norm and EMA, beat those of its first, "
        "dropout and BEMA."
    ),
    source=f"Ours: a question that {ARXIV} v1 and v2 raise together",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(figure,),
    place=150,
)
