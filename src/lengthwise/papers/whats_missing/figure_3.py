"""Figure 3: OthelloGPT, means of top quantiles of models by gap, BEMA against none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars

from lengthwise.claims import Claim, Finding, Picture, Results
from lengthwise.papers.whats_missing import othello_readings as read
from lengthwise.papers.whats_missing.othello import ARMS, DECAYED, OFFSET
from lengthwise.papers.whats_missing.othello_section import OTHELLO, SOURCE
from lengthwise.report.style import COLOURS, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.2, 0.5, 1.0)
"""Top portions of models that are drawn. Ours."""

FAR = 4
"""Gaps up to here are called near. Ours."""

RESAMPLES = 1000


def evidence(results: Results) -> Sequence[Finding]:
    """Every model with its raw weights over the same with an average of them."""
    table = read.readings(results)
    plain = read.of_arms(read.beyond(table))
    raw = read.of_kind(plain, "raw")
    findings = [
        Finding(
            "mean TVD beyond the training length, raw / BEMA with powers chosen on other seeds",
            read.ratios(raw, read.chosen(plain, "BEMA")),
            read.SMALLEST_FACTOR,
        )
    ]

    def shown(words: str, above: polars.DataFrame, below: polars.DataFrame) -> None:
        estimate = read.ratios(above, below)
        findings.append(Finding(words, estimate, read.SMALLEST_FACTOR, decides=False))

    shown(
        f"the same with BEMA's default powers ({read.DEFAULT})",
        raw,
        read.of_kind(plain, read.DEFAULT),
    )
    shown("the same with plain EMA, power chosen on other seeds", raw, read.chosen(plain, "EMA"))
    ranges = (("within the training length", -1000, 0), (f"gaps 1 to {FAR}", 1, FAR),
              (f"gaps from {FAR + 1} on", FAR + 1, None))  # fmt: skip
    for words, least, most in ranges:
        part = read.of_arms(read.beyond(table, least, most))
        shown(f"raw / BEMA, {words}", read.of_kind(part, "raw"), read.chosen(part, "BEMA"))
    for arm in (DECAYED, OFFSET):
        own = read.of_arms(read.beyond(table), [arm])
        words = f"raw / BEMA beyond the training length, {ARMS[arm].title}"
        shown(words, read.of_kind(own, "raw"), read.chosen(own, "BEMA"))
    return findings


def top_means(values: np.ndarray, portion: float) -> np.ndarray:
    """Mean of the lowest `portion` of each column of `(models, gaps)`."""
    count = max(1, round(portion * len(values)))
    means: np.ndarray = np.sort(values, axis=0)[:count].mean(0)
    return means


def _by_seed(table: polars.DataFrame) -> tuple[np.ndarray, list[int]]:
    """Values as `(seeds, arms, gaps)`, and the gaps."""
    gaps = sorted(table["gap"].unique())
    ordered = table.sort("seed", "arm", "gap")
    arms = ordered.group_by("seed", maintain_order=True).agg(polars.col("arm").n_unique())
    whole = arms.filter(polars.col("arm") == arms["arm"].max())["seed"]
    ordered = ordered.filter(polars.col("seed").is_in(whole.to_list()))
    return ordered["value"].to_numpy().reshape(len(whole), -1, len(gaps)), gaps


def figure(results: Results) -> "Figure":
    """A panel per top portion, a line per kind of weights."""
    table = read.of_arms(read.readings(results)).filter(polars.col("gap") >= 1)
    kinds = {
        "raw weights": ("raw", "orange", "o"),
        "EMA": (read.best_kind(table, "EMA"), "green", "^"),
        "BEMA": (read.best_kind(table, "BEMA"), "blue", "s"),
    }
    with house_style():
        figure = new_figure(3.6 * len(QUANTILES) + 0.8, 4.0)
        panels = figure.subplots(1, len(QUANTILES), sharey=True)
        for axes, portion in zip(panels, QUANTILES, strict=True):
            for words, (kind, colour, marker) in kinds.items():
                values, gaps = _by_seed(read.of_kind(table, kind))
                _draw(axes, values, gaps, portion, COLOURS[colour], marker,
                      words if kind == "raw" else kind)  # fmt: skip
            axes.set_title("all models" if portion == 1 else f"top {portion:.0%} of models")
            axes.set_xlabel("gap (moves beyond the training length)")
        panels[0].set_ylabel("mean TVD")
        panels[0].legend(loc="upper left")
        return figure


def _draw(
    axes: object,
    values: np.ndarray,
    gaps: list[int],
    portion: float,
    colour: str,
    marker: str,
    label: str,
) -> None:
    """A line of means of the top portion, with a bootstrap band over seeds."""
    generator = np.random.default_rng(0)
    draws = generator.integers(len(values), size=(RESAMPLES, len(values)))
    means = [top_means(values[draw].reshape(-1, len(gaps)), portion) for draw in draws]
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    middle = top_means(values.reshape(-1, len(gaps)), portion)
    axes.plot(gaps, middle, color=colour, marker=marker, markersize=4, label=label)  # type: ignore[attr-defined]
    axes.fill_between(gaps, low, high, color=colour, alpha=0.15, lw=0)  # type: ignore[attr-defined]


def pictures(results: Results) -> list[Picture]:
    """The figure with its words."""
    return [
        Picture(
            as_svg(figure(results)),
            "Figure 3: mean TVD of the top portions of models by gap, ranked anew at each gap, "
            "with raw weights and with averages of them (powers that are best beyond the training "
            "length), with 95 % bootstrap bands over seeds.",
            "Mean TVD of top portions of models by gap: raw weights, EMA and BEMA",
        )
    ]


FIGURE_3 = Claim(
    name="whats-missing/figure-3",
    sentence="BEMA of the weights lowers OthelloGPT's TVD on games longer than those of training.",
    source=f"{SOURCE}, figure 3",
    experiment=OTHELLO,
    evidence=evidence,
    pictures=pictures,
)
