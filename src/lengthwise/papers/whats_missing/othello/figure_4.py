"""Figure 4: OthelloGPT, TVD for every pair of BEMA power and EMA power."""

import numpy as np
import polars

from lengthwise.claims import Claim, Finding, Results, drawing
from lengthwise.claims.readings import (
    DEFAULT_BEMA,
    SMALLEST_FACTOR,
    average_in_words,
    best_average,
    chosen_on_other_seeds,
)
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.plan import BIAS_POWERS, EMA_POWERS
from lengthwise.papers.whats_missing.othello.section import OTHELLO
from lengthwise.report.powers import draw_powers, grid_of_powers
from lengthwise.report.style import Figure, new_figure


def evidence(results: Results) -> list[Finding]:
    """EMA over BEMA, both at their best powers, and other pairs over the best one."""
    plain = read.of_variants(read.over(read.readings(results)))
    ema, bema = chosen_on_other_seeds(plain, "EMA"), chosen_on_other_seeds(plain, "BEMA")
    findings = [
        Finding(
            "mean TVD beyond the training length, EMA / BEMA, powers of both chosen on other seeds",
            read.ratios(ema, bema),
            SMALLEST_FACTOR,
        ),
        Finding(
            f"the same, {DEFAULT_BEMA} / BEMA with powers chosen on other seeds",
            read.ratios(read.of_kind(plain, DEFAULT_BEMA), bema),
            SMALLEST_FACTOR,
            decides=False,
        ),
    ]
    best = best_average(plain, "BEMA")
    ema_power, bias_power = map(float, best.split()[1:])
    others = {
        "stronger correction": average_in_words(ema_power, min(BIAS_POWERS)),
        "no correction": average_in_words(ema_power),
        "shorter average": average_in_words(min(EMA_POWERS), bias_power),
        "longer average": average_in_words(max(EMA_POWERS), bias_power),
    }
    for words, kind in others.items():
        if kind != best:
            ratio = read.ratios(read.of_kind(plain, kind), read.of_kind(plain, best))
            effect = f"{kind} ({words}) / {best}, the best of all (chosen on these seeds)"
            findings.append(Finding(effect, ratio, SMALLEST_FACTOR, decides=False))
    return findings


@drawing(
    "figure-4",
    "Figure 4: TVD for every pair of EMA power and bias power, all out of the same runs "
    "(geometric means over seeds and rates of embedding dropout). Blue-violet is lower "
    "than with raw weights, orange higher; a small bias power corrects much, the column "
    "EMA not at all.",
    "Heat maps of TVD by EMA power and bias power, within and beyond the training length",
)
def figure(results: Results) -> Figure:
    """Two heat maps of geometric means: within the training length, and beyond it."""
    table = read.of_variants(read.readings(results))
    figure = new_figure(11.0, 3.4)
    for axes, gaps in zip(figure.subplots(1, 2), (read.WITHIN, read.BEYOND), strict=True):
        means = read.over(table, gaps)

        def mean(kind: str, means: polars.DataFrame = means) -> float:
            return float(np.exp(np.log(read.of_kind(means, kind)["value"].to_numpy()).mean()))

        raw, grid = mean("raw"), grid_of_powers(mean, EMA_POWERS, BIAS_POWERS)
        draw_powers(axes, grid, raw / grid, EMA_POWERS, BIAS_POWERS)
        axes.set_title(f"{gaps.words.capitalize()}: raw weights {raw:.3f}")
    return figure


FIGURE_4 = Claim(
    name="whats-missing/figure-4",
    sentence="OthelloGPT's best pair of powers beyond the training length corrects EMA's bias.",
    source=f"{V1}, figure 4; that BEMA beats plain EMA is our reading of it",
    experiment=OTHELLO,
    evidence=evidence,
    drawings=(figure,),
    place=170,
)
