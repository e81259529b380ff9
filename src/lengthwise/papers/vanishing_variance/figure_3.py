"""Figure 3: drift of the global mean and decay of the global variance."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars

from lengthwise.claims import Claim, Finding, Picture, Results, estimate
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance.attended import COMPARED, SHIFT
from lengthwise.papers.vanishing_variance.retrieval import BASELINE, NORM, TASKS, TITLES, VARIANTS
from lengthwise.papers.vanishing_variance.retrieval_section import LINES
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST_FACTOR = 1.05
"""A shift that is smaller by less than 5 % would not matter. Ours."""


def drift(results: Results, task: str, variant: str) -> polars.DataFrame:
    """|global mean - that at the longest training length| / global variance there."""
    mean = _with_trained(results, task, variant, "global_mean_after")
    variance = _with_trained(results, task, variant, "global_variance_after")
    return mean.with_columns(
        ((polars.col("value") - polars.col("trained")).abs() / variance["trained"]).alias("value")
    )


def variance_left(results: Results, task: str, variant: str) -> polars.DataFrame:
    """Global variance over that at the longest training length."""
    rows = _with_trained(results, task, variant, "global_variance_after")
    return rows.with_columns((polars.col("value") / polars.col("trained")).alias("value"))


def _with_trained(results: Results, task: str, variant: str, measure: str) -> polars.DataFrame:
    rows = read.readings(results, task, variant, measure)
    trained = rows.filter(polars.col("length") == read.recipe_of(results).train_length)
    own = trained.select("seed", polars.col("value").alias("trained"))
    return rows.join(own, on="seed", maintain_order="left")


def evidence(results: Results) -> Sequence[Finding]:
    """Both shifts at the longest sets, without the norm over with it, seed by seed."""
    longest = read.lengths(results)[-1]
    findings = []
    for task in TASKS:
        seeds = read.learned(results, task, COMPARED)
        for words, shift in (("global mean drifts", drift), ("global variance changes", _change)):
            baseline, norm = (
                _at(shift(results, task, variant), longest) for variant in (BASELINE, NORM)
            )
            ratios = [math.log(baseline[seed] / norm[seed]) for seed in seeds]
            findings.append(
                Finding(
                    f"how far the {words} from {read.recipe_of(results).train_length} to {longest} "
                    f"items on {TITLES[task]}, baseline / LayerNorm",
                    estimate(ratios).exp(),
                    SMALLEST_FACTOR,
                )
            )
    return findings


def _change(results: Results, task: str, variant: str) -> polars.DataFrame:
    """By what factor the global variance changes, as a logarithm."""
    left = variance_left(results, task, variant)
    return left.with_columns(polars.col("value").log().abs().clip(1e-6))


def _at(rows: polars.DataFrame, length: int) -> dict[int, float]:
    rows = rows.filter(polars.col("length") == length)
    return dict(zip(rows["seed"].to_list(), rows["value"].to_list(), strict=True))


def pictures(results: Results) -> list[Picture]:
    """The figure, for both tasks."""
    return [
        Picture(
            as_svg(draw(results)),
            "Left: how far the mean over all features of what the answer is made of has moved from "
            "its value at the longest training length, divided by the variance there. Right: what "
            "is left of that variance. Means over seeds with 95 % bands.",
            "Drift of the global mean and decay of the global variance, by number of items",
        )
    ]


def draw(results: Results) -> "Figure":
    """A row per task; drift left, variance right."""
    trained, lengths = read.recipe_of(results).train_length, read.lengths(results)
    with house_style():
        figure = new_figure(10.4, 3.5 * len(TASKS))
        for row, task in zip(figure.subplots(len(TASKS), 2), TASKS, strict=True):
            for axes, table, ylabel in (
                (row[0], drift, "drift of the global mean"),
                (row[1], variance_left, "global variance left"),
            ):
                curves = {
                    VARIANTS[variant].title: Curve(table(results, task, variant), *LINES[variant])
                    for variant in COMPARED
                }
                draw_by_length(axes, curves, trained, lengths, ylabel)
                axes.set_xlabel("number of items")
                axes.set_title(TITLES[task].capitalize(), pad=20)
            row[0].set_ylim(bottom=0)
            row[1].set_yscale("log")
            row[0].legend(loc="upper left")
        return figure


FIGURE_3 = Claim(
    name="vanishing-variance/figure-3",
    sentence="LayerNorm after attention reduces the shift of the attention output's distribution.",
    source="arXiv 2504.02827, figure 3",
    experiment=SHIFT,
    evidence=evidence,
    pictures=pictures,
)
