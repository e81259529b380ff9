"""Figure 2: mean dropout rate of the top portions of models, per gap and extra dimensions."""

import polars

from lengthwise.claims import Claim, Estimate, Finding, Results, TopPortion, drawing
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.report.style import COLOURS, Figure, new_panels

PORTIONS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Top portions that are drawn. Ours."""

CELLS = {"largest_gap": "gaps up to {}", "extra_width": "{} extra dimensions"}
"""What models are ranked within, and its words."""


def evidence(results: Results) -> list[Finding]:
    """Compare the dropout of the top portion with that of all models, by site and by cell."""
    table = _with_mean_rate(results)
    parts = [
        (f"mean dropout rate, top {TOP:.0%} of models minus all, mean of all sites", "rate", table),
        *(
            (f"the same, dropout of the {words} alone", site, table)
            for site, words in readings.SITES.items()
        ),
        *(
            (
                f"the same, mean of all sites, {words.format(value)}",
                "rate",
                readings.part(table, **{name: value}),
            )
            for name, words in CELLS.items()
            for value in sorted(table[name].unique())
        ),
    ]
    return [
        Finding(effect, above_all(part, value), smallest=0.0, decides=not place)
        for place, (effect, value, part) in enumerate(parts)
    ]


def above_all(table: polars.DataFrame, value: str) -> Estimate:
    """The mean of `value` in the top portion minus its mean over all models.

    Both are of the same bootstrap draws, which the fixed seed makes the same.
    """
    top = TopPortion(table, value, list(CELLS))
    return top.minus(TopPortion(table, value, list(CELLS), portion=1.0))


def _with_mean_rate(results: Results) -> polars.DataFrame:
    best = readings.best_weights(readings.trials(results))
    return best.with_columns(rate=polars.mean_horizontal(*readings.SITES))


@drawing(
    "figure-2",
    "Figure 2: mean dropout rate of the top portions of models by TVD beyond the training "
    "length (each model with the weights that suit it best), per site, largest gap and "
    "extra dimensions, with 95 % bootstrap bands. If dropout helped, lines would rise to "
    "the left, above the dashed mean over all models.",
    "Mean dropout rate against the top portion of models, by site, gap and width",
)
def figure(results: Results) -> Figure:
    """One panel per site and gap, one line per number of extra dimensions."""
    table = _with_mean_rate(results)
    gaps, widths = (sorted(table[name].unique()) for name in CELLS)
    figure, panels = new_panels(
        3.0 * len(gaps) + 0.6,
        7.4,
        len(readings.SITES),
        len(gaps),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for row, (site, words) in zip(panels, readings.SITES.items(), strict=True):
        mean = float(table[site].mean() or 0.0)  # type: ignore[arg-type]
        for axes, gap in zip(row, gaps, strict=True):
            axes.axhline(mean, color=COLOURS["grey"], ls="--", lw=1.2, label="all models")
            for width, colour, marker in zip(
                widths, ("green", "blue", "orange"), "os^", strict=False
            ):
                cell = readings.part(table, largest_gap=gap, extra_width=width)
                tops = [
                    TopPortion(cell, site, list(CELLS), portion).estimate() for portion in PORTIONS
                ]
                places = [100 * portion for portion in PORTIONS]
                axes.plot(
                    places, [top.mean for top in tops], color=COLOURS[colour], marker=marker,
                    markersize=4, lw=1.6, label=f"{width} extra",
                )  # fmt: skip
                axes.fill_between(
                    places, [top.low for top in tops], [top.high for top in tops],
                    color=COLOURS[colour], alpha=0.13, lw=0,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_xticks([5, 10, 20, 50, 100], labels=["5", "10", "20", "50", "100"])
            axes.minorticks_off()
        row[0].set_ylabel(f"{words}\nmean rate")
    for axes, gap in zip(panels[0], gaps, strict=True):
        axes.set_title(f"gaps up to {gap}")
    for axes in panels[-1]:
        axes.set_xlabel("top portion of models (%)")
    panels[0][0].set_ylim(bottom=0)
    panels[0][-1].legend(loc="upper right", fontsize=8)
    return figure


FIGURE_2 = Claim(
    name="whats-missing/figure-2",
    sentence="The top portions of models have a higher dropout rate than the search as a whole.",
    source=f"{V1}, figure 2",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(figure,),
    place=100,
)
