"""Figure 3: OthelloGPT, means of top quantiles of models by gap, BEMA against none."""

import numpy as np
import polars

from lengthwise.claims import Claim, Estimate, Finding, Results, drawing
from lengthwise.claims.readings import (
    DEFAULT_BEMA,
    SMALLEST_FACTOR,
    best_average,
    chosen_on_other_seeds,
)
from lengthwise.claims.statistics import MIDDLE, RESAMPLES
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.plan import DECAYED, OFFSET, VARIANTS
from lengthwise.papers.whats_missing.othello.section import OTHELLO
from lengthwise.report.style import COLOURS, Figure, new_panels

QUANTILES = (0.2, 0.5, 1.0)
"""Top portions of models that are drawn. Ours."""


LINES = {"raw": ("orange", "o"), "EMA": ("green", "^"), "BEMA": ("blue", "s")}


def evidence(results: Results) -> list[Finding]:
    """Every model with its raw weights over the same with an average of them."""
    table = read.readings(results)
    plain = read.of_variants(table)
    findings: list[Finding] = []

    def add(words: str, estimate: Estimate) -> None:
        findings.append(Finding(words, estimate, SMALLEST_FACTOR, decides=not findings))

    def gain(
        rows: polars.DataFrame, prefix: str = "BEMA", gaps: read.Gaps = read.BEYOND
    ) -> Estimate:
        means = read.over(rows, gaps)
        return read.ratios(read.of_kind(means, "raw"), chosen_on_other_seeds(means, prefix))

    add("mean TVD beyond the training length, raw / BEMA with powers chosen on other seeds",
        gain(plain))  # fmt: skip
    beyond = read.over(plain)
    default = read.ratios(read.of_kind(beyond, "raw"), read.of_kind(beyond, DEFAULT_BEMA))
    add(f"the same with BEMA's default powers ({DEFAULT_BEMA})", default)
    add("the same with plain EMA, power chosen on other seeds", gain(plain, "EMA"))
    for gaps in (read.WITHIN, read.NEAR, read.FAR):
        add(f"raw / BEMA, {gaps.words}", gain(plain, gaps=gaps))
    for variant in (DECAYED, OFFSET):
        words = f"raw / BEMA beyond the training length, {VARIANTS[variant].title}"
        add(words, gain(read.of_variants(table, [variant])))
    kinds = _kinds(table)
    above, below = (_by_seed(read.of_kind(_drawn(table), kinds[name])) for name in ("raw", "BEMA"))
    for portion in QUANTILES[:-1]:
        add(
            f"mean over gaps of the top {portion:.0%} of models at each gap, raw / "
            f"{kinds['BEMA']} (chosen on these seeds; bootstrap)",
            portion_ratio(above, below, portion),
        )
    return findings


def top_means(values: np.ndarray, portion: float) -> np.ndarray:
    """Mean of the lowest `portion` of each column of `(models, gaps)`."""
    count = max(1, round(portion * len(values)))
    means: np.ndarray = np.sort(values, axis=0)[:count].mean(0)
    return means


def portion_ratio(above: np.ndarray, below: np.ndarray, portion: float) -> Estimate:
    """Mean over gaps of the top portion's mean, `above` over `below`.

    Both are `(seeds, variants, gaps)`. The interval is a bootstrap over seeds, the same for both.
    """

    def ratio(seeds: np.ndarray | slice) -> float:
        tops = (top_means(_models(values[seeds]), portion).mean() for values in (above, below))
        first, second = tops
        return float(first / second)

    draws = [ratio(draw) for draw in _draws(len(above))]
    return Estimate.of_draws(ratio(slice(None)), draws, len(above), "seeds")


def _by_seed(table: polars.DataFrame) -> np.ndarray:
    """Values `(seeds, variants, gaps)`; seeds of which a model diverged are left out."""
    ordered = table.sort("seed", "variant", "gap")
    counts = ordered.group_by("seed", maintain_order=True).agg(polars.col("variant").n_unique())
    whole = counts.filter(polars.col("variant") == counts["variant"].max())["seed"]
    ordered = ordered.filter(polars.col("seed").is_in(whole.to_list()))
    return ordered["value"].to_numpy().reshape(len(whole), -1, table["gap"].n_unique())


def _models(values: np.ndarray) -> np.ndarray:
    """`(seeds, variants, gaps)` as `(models, gaps)`."""
    return values.reshape(-1, values.shape[-1])


def _draws(seeds: int) -> np.ndarray:
    return np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))


def _drawn(table: polars.DataFrame) -> polars.DataFrame:
    """What the figure is about: the variants that decide, beyond the training length."""
    return read.of_variants(table).filter(polars.col("gap") >= 1)


def _kinds(table: polars.DataFrame) -> dict[str, str]:
    """The kinds of weights that the figure shows: raw, and the powers that are best beyond."""
    means = read.of_variants(read.over(table))
    return {"raw": "raw"} | {name: best_average(means, name) for name in ("EMA", "BEMA")}


@drawing(
    "figure-3",
    "Figure 3: mean TVD of the top portions of models by gap, ranked anew at each gap, "
    "with raw weights and with averages of them (powers that are best beyond the training "
    "length), with 95 % bootstrap bands over seeds.",
    "Mean TVD of top portions of models by gap: raw weights, EMA and BEMA",
)
def figure(results: Results) -> Figure:
    """A panel per top portion, a line per kind of weights."""
    table = read.readings(results)
    kinds, drawn = _kinds(table), _drawn(table)
    gaps = drawn["gap"].unique().sort().to_list()
    figure, panels = new_panels(3.6 * len(QUANTILES) + 0.8, 4.0, 1, len(QUANTILES), sharey=True)
    for axes, portion in zip(panels, QUANTILES, strict=True):
        for name, (colour, marker) in LINES.items():
            values = _by_seed(read.of_kind(drawn, kinds[name]))
            means = [top_means(_models(values[own]), portion) for own in _draws(len(values))]
            axes.plot(
                gaps, top_means(_models(values), portion), color=COLOURS[colour],
                marker=marker, markersize=4, label=kinds[name],
            )  # fmt: skip
            low, high = np.quantile(means, MIDDLE, axis=0)
            axes.fill_between(gaps, low, high, color=COLOURS[colour], alpha=0.15, lw=0)
        models = len(_models(values))
        top = f"top {portion:.0%}: {max(1, round(portion * models))} of {models} models"
        axes.set_title(f"all {models} models" if portion == 1 else top)
        axes.set_xlabel("gap (moves beyond the training length)")
    panels[0].set_ylabel("mean TVD")
    panels[0].legend(loc="upper left")
    return figure


FIGURE_3 = Claim(
    name="whats-missing/figure-3",
    sentence="BEMA of the weights lowers OthelloGPT's TVD on games longer than those of training.",
    source=f"{V1}, figure 3",
    experiment=OTHELLO,
    evidence=evidence,
    drawings=(figure,),
    place=160,
)
