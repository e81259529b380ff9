"""Claim: which combination of remedies is best; v2's against v1's, and all others beside."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars

from lengthwise.claims import Claim, Finding, Picture, Results
from lengthwise.papers.whats_missing import search_readings as readings
from lengthwise.papers.whats_missing.figure_1 import families
from lengthwise.papers.whats_missing.search_experiment import SEARCH
from lengthwise.report.style import COLOURS, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

V1, V2 = "dropout + BEMA", "norm + EMA"
"""The remedies of the paper's two versions."""


def tops(results: Results) -> dict[str, readings.TopPortion]:
    """The logarithm of TVD in the top portion of every family, best family first."""
    table = families(results).with_columns(log=polars.col("tvd_beyond").log())
    found = {
        str(family): readings.TopPortion(readings.best_weights(rows), "log", ["gap"])
        for (family,), rows in table.group_by("family", maintain_order=True)
    }
    return dict(sorted(found.items(), key=lambda item: item[1].point))


def evidence(results: Results) -> Sequence[Finding]:
    """The two versions' remedies against each other, and every family against the best one."""
    ranked = tops(results)
    best = next(iter(ranked))
    found = [
        Finding(
            f"TVD of the top {readings.TOP:.0%} of models, {V1} / {V2}",
            ranked[V1].minus(ranked[V2]).exp(),
            readings.SMALLEST_FACTOR,
        )
    ]
    found += [
        Finding(
            f"the same, {family} / {best}, the best",
            top.minus(ranked[best]).exp(),
            readings.SMALLEST_FACTOR,
            decides=False,
        )
        for family, top in ranked.items()
        if family != best
    ]
    return found


def figure(results: Results) -> "Figure":
    """TVD of the top portion of every family, with intervals."""
    ranked = tops(results)
    with house_style():
        figure = new_figure(7.6, 4.4)
        axes = figure.subplots()
        for place, top in enumerate(reversed(ranked.values())):
            one = top.estimate().exp()
            axes.plot([one.low, one.high], [place, place], color=COLOURS["blue"], lw=2)
            axes.plot(one.mean, place, "o", color=COLOURS["blue"], markersize=6)
        axes.set_yticks(range(len(ranked)), labels=list(ranked)[::-1])
        axes.set_xscale("log")
        axes.set_xlabel("TVD beyond the training length (geometric mean)")
        axes.set_title(f"The top {readings.TOP:.0%} of every family")
        return figure


def pictures(results: Results) -> list[Picture]:
    """The claim's own picture."""
    return [
        Picture(
            as_svg(figure(results)),
            f"TVD of the top {readings.TOP:.0%} of models of every combination of remedies, ranked "
            "within each gap, gaps counting equally, with 95 % bootstrap intervals over pairs. "
            "Averages enter with the powers that suit each trial best.",
            "TVD of the top portion per combination of norm, dropout and averaging",
        )
    ]


SEARCH_COMBINATION = Claim(
    name="whats-missing/search-combination",
    sentence=(
        "The remedies of the paper's second version, norm and EMA, beat those of its first, "
        "dropout and BEMA."
    ),
    source="Ours: a question that arXiv 2510.08341 v1 and v2 raise together",
    experiment=SEARCH,
    evidence=evidence,
    pictures=pictures,
)
