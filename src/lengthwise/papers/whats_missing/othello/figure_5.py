"""Figure 5: OthelloGPT without BEMA, TVD against gap, coloured by embedding dropout."""

import polars

from lengthwise.claims import Claim, Finding, Results, drawing
from lengthwise.claims.readings import SMALLEST_FACTOR, best_average
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.plan import DROPOUTS, PLAIN
from lengthwise.papers.whats_missing.othello.section import OTHELLO
from lengthwise.report.style import COLOURS, Figure, new_panels

SHADES = ("grey", "green", "purple")
MARKERS = "o^s"


def evidence(results: Results) -> list[Finding]:
    """Without dropout over with it, within each seed, raw weights; then with BEMA."""
    table = read.readings(results)
    off, on, more = DROPOUTS
    bema = best_average(read.of_variants(read.over(table)), "BEMA")

    def finding(
        words: str, rate: float, kind: str, gaps: read.Gaps = read.BEYOND, *, decides: bool = False
    ) -> Finding:
        means = read.of_kind(read.over(table, gaps), kind)
        without, dropped = (_of_rate(means, one) for one in (off, rate))
        effect = f"{words}, dropout {off:g} / {rate:g}"
        return Finding(effect, read.ratios(without, dropped), SMALLEST_FACTOR, decides)

    return [
        finding("mean TVD beyond the training length, raw weights", on, "raw", decides=True),
        finding("the same", more, "raw"),
        *(
            finding(f"{gaps.words}, raw weights", on, "raw", gaps)
            for gaps in (read.WITHIN, read.NEAR, read.FAR)
        ),
        finding(f"beyond it, both with {bema} (chosen on these seeds)", on, bema),
    ]


def _of_rate(means: polars.DataFrame, rate: float) -> polars.DataFrame:
    """The rows of one rate, under a name that does not tell it, so that rates can be paired."""
    own = read.of_variants(means, [f"dropout {rate:g}"])
    return own.with_columns(variant=polars.lit("dropout"))


@drawing(
    "figure-5",
    "Figure 5: TVD against the gap with raw weights, coloured by embedding dropout. Thin "
    "lines are models, thick ones means over seeds.",
    "TVD by gap without BEMA, for three rates of embedding dropout",
)
def figure(results: Results) -> Figure:
    """Every model a thin line, the mean of each rate a thick one."""
    table = read.of_kind(read.readings(results), "raw").filter(polars.col("gap") >= 1)
    figure, axes = new_panels(7.6, 4.4)
    for (variant, words), shade, marker in zip(PLAIN.items(), SHADES, MARKERS, strict=True):
        own = read.of_variants(table, [variant])
        for _, model in own.group_by("seed", maintain_order=True):
            axes.plot(
                model["gap"], model["value"], color=COLOURS[shade], alpha=0.35, lw=0.9
            )  # fmt: skip
        means = own.group_by("gap").agg(polars.col("value").mean()).sort("gap")
        axes.plot(
            means["gap"], means["value"], color=COLOURS[shade], marker=marker, markersize=5,
            label=words.title,
        )  # fmt: skip
    axes.set(xlabel="gap (moves beyond the training length)", ylabel="TVD from the legal moves")
    axes.set_title("Without averaging")
    axes.legend(loc="upper left")
    return figure


FIGURE_5 = Claim(
    name="whats-missing/figure-5",
    sentence="Embedding dropout lowers OthelloGPT's TVD on games longer than those of training.",
    source=f"{V1}, figure 5",
    experiment=OTHELLO,
    evidence=evidence,
    drawings=(figure,),
    place=180,
)
