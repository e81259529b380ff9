"""Figure 4: OthelloGPT, TVD for every pair of BEMA power and EMA power."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars

from lengthwise.claims import Claim, Finding, Picture, Results
from lengthwise.papers.whats_missing import othello_readings as read
from lengthwise.papers.whats_missing.othello import BIAS_POWERS, EMA_POWERS
from lengthwise.papers.whats_missing.othello_section import OTHELLO, SOURCE
from lengthwise.report.powers import draw_powers
from lengthwise.report.style import as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def evidence(results: Results) -> Sequence[Finding]:
    """EMA over BEMA, both at their best powers, and other pairs over the best one."""
    plain = read.of_arms(read.over(read.readings(results)))
    ema, bema = read.chosen(plain, "EMA"), read.chosen(plain, "BEMA")
    findings = [
        Finding(
            "mean TVD beyond the training length, EMA / BEMA, powers of both chosen on other seeds",
            read.ratios(ema, bema),
            read.SMALLEST_FACTOR,
        ),
        Finding(
            f"the same, {read.DEFAULT} / BEMA with powers chosen on other seeds",
            read.ratios(read.of_kind(plain, read.DEFAULT), bema),
            read.SMALLEST_FACTOR,
            decides=False,
        ),
    ]
    best = read.best_kind(plain, "BEMA")
    _, ema_power, bias_power = best.split()
    others = {
        "stronger correction": f"BEMA {ema_power} {min(BIAS_POWERS)}",
        "no correction": f"EMA {ema_power}",
        "shorter average": f"BEMA {min(EMA_POWERS)} {bias_power}",
        "longer average": f"BEMA {max(EMA_POWERS)} {bias_power}",
    }
    for words, kind in others.items():
        if kind != best:
            ratio = read.ratios(read.of_kind(plain, kind), read.of_kind(plain, best))
            effect = f"{kind} ({words}) / {best}, the best of all (chosen on these seeds)"
            findings.append(Finding(effect, ratio, read.SMALLEST_FACTOR, decides=False))
    return findings


def grid(table: polars.DataFrame) -> tuple[np.ndarray, float]:
    """Geometric mean of TVD per EMA power (rows) and bias power, plain EMA last; and raw."""

    def mean(kind: str) -> float:
        return float(np.exp(np.log(read.of_kind(table, kind)["value"].to_numpy()).mean()))

    cells = [
        [*(mean(f"BEMA {ema} {bias}") for bias in BIAS_POWERS), mean(f"EMA {ema}")]
        for ema in EMA_POWERS
    ]
    return np.array(cells), mean("raw")


def figure(results: Results) -> "Figure":
    """Two heat maps: within the training length, and beyond it."""
    table = read.readings(results)
    with house_style():
        figure = new_figure(11.0, 3.4)
        for axes, gaps in zip(figure.subplots(1, 2), (read.WITHIN, read.BEYOND), strict=True):
            values, raw = grid(read.of_arms(read.over(table, gaps)))
            draw_powers(axes, values, raw, EMA_POWERS, [*BIAS_POWERS, None])
            axes.set_title(f"{gaps.words.capitalize()}: raw weights {raw:.3f}")
        return figure


def pictures(results: Results) -> list[Picture]:
    """The figure with its words."""
    return [
        Picture(
            as_svg(figure(results)),
            "Figure 4: TVD for every pair of EMA power and bias power, all out of the same runs "
            "(geometric means over seeds and rates of embedding dropout). Blue-violet is lower "
            "than with raw weights, orange higher; a small bias power corrects much, the column "
            "EMA not at all.",
            "Heat maps of TVD by EMA power and bias power, within and beyond the training length",
        )
    ]


FIGURE_4 = Claim(
    name="whats-missing/figure-4",
    sentence="OthelloGPT's best pair of powers beyond the training length corrects EMA's bias.",
    source=f"{SOURCE}, figure 4; that BEMA beats plain EMA is our reading of it",
    experiment=OTHELLO,
    evidence=evidence,
    pictures=pictures,
)
