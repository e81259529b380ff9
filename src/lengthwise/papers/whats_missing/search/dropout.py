"""Claim: dropout counteracts dispersion, tested on twins that differ in one dropout alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars

from lengthwise.claims import Claim, Estimate, Finding, Picture, Results
from lengthwise.papers.whats_missing import search_readings as readings
from lengthwise.papers.whats_missing.search_experiment import SEARCH, SOURCE
from lengthwise.report.style import COLOURS, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLITS = (
    "gap",
    "extra",
    "steps",
    "norm",
    "loss",
    "learning rate",
    "rate",
    "other dropout",
    "pairs",
)
"""By what the pairs are divided to see where dropout helps. Ours."""

FEWEST = 8
"""A part of fewer pairs is not shown. Ours."""


def evidence(results: Results) -> Sequence[Finding]:
    """Every site over all pairs, then the part of the pairs that speaks most for dropout."""
    table = readings.trials(results)
    found = [
        Finding(
            f"mean TVD beyond the training length, without / with dropout of the {words}",
            readings.factor_lower(readings.twins(table, site)),
            readings.SMALLEST_FACTOR,
        )
        for site, words in readings.SITES.items()
    ]
    averaged = f"EMA {readings.EMA_POWER}"
    found += [
        Finding(
            f"the same with {averaged} of both, dropout of the {words}",
            readings.factor_lower(readings.twins(table, site, averaged)),
            readings.SMALLEST_FACTOR,
            decides=False,
        )
        for site, words in readings.SITES.items()
    ]
    looks = parts(table)
    for gap in sorted(table["gap"].unique()):
        found += [
            Finding(
                f"without / with dropout of the {readings.SITES[site]}, gap {gap}",
                readings.factor_lower(pairs),
                readings.SMALLEST_FACTOR,
                decides=False,
            )
            for (site, part), pairs in looks.items()
            if part == f"gap {gap}"
        ]
    if looks:
        (site, part), pairs = max(
            looks.items(), key=lambda item: readings.factor_lower(item[1]).mean
        )
        found.append(
            Finding(
                f"the most favourable of {len(looks)} parts of the pairs (dropout of the "
                f"{readings.SITES[site]}, {part}), with an interval widened for as many looks",
                readings.factor_lower(pairs, looks=len(looks)),
                readings.SMALLEST_FACTOR,
                decides=False,
            )
        )
    return found


def parts(table: polars.DataFrame) -> dict[tuple[str, str], polars.DataFrame]:
    """Pairs of twins by dropout site and by each of the splits."""
    found = {}
    for site in readings.SITES:
        pairs = readings.twins(table, site).with_columns(
            _thirds("learning_rate", (1.7e-3, 5.8e-3)).alias("learning rate"),
            _thirds("rate", (0.1, 0.2)).alias("rate"),
            polars.when(
                polars.any_horizontal(polars.col(o) > 0 for o in readings.SITES if o != site)
            )
            .then(polars.lit("some"))
            .otherwise(polars.lit("none"))
            .alias("other dropout"),
            # By the better twin, whichever it is, so that neither side is favoured.
            polars.when(
                polars.min_horizontal("off", "on").rank("ordinal").over("gap")
                <= polars.len().over("gap") / 3
            )
            .then(polars.lit("of the best third"))
            .otherwise(polars.lit("of the rest"))
            .alias("pairs"),
        )
        for split in SPLITS:
            for (value,), part in pairs.group_by(split, maintain_order=True):
                if len(part) >= FEWEST:
                    found[site, f"{split} {value}"] = part
    return found


def _thirds(column: str, bounds: tuple[float, float]) -> polars.Expr:
    """A column in three parts of equal mass under the space's distribution."""
    low, high = bounds
    value = polars.col(column)
    words = (f"below {low:g}", f"{low:g} to {high:g}", f"above {high:g}")
    return (
        polars.when(value < low).then(polars.lit(words[0]))
        .when(value < high).then(polars.lit(words[1]))
        .otherwise(polars.lit(words[2]))
    )  # fmt: skip


def figure(results: Results) -> "Figure":
    """The effect of dropout at every site, over all pairs and in every part of them."""
    table = readings.trials(results)
    looks = parts(table)
    names = sorted({part for _, part in looks}, key=_order)
    with house_style():
        figure = new_figure(9.6, 0.27 * (len(names) + 1) + 1.3)
        panels = figure.subplots(1, len(readings.SITES), sharey=True, sharex=True)
        for axes, (site, words) in zip(panels, readings.SITES.items(), strict=True):
            effects: dict[str, Estimate] = {
                "all pairs": readings.factor_lower(readings.twins(table, site))
            }
            effects |= {
                n: readings.factor_lower(looks[site, n]) for n in names if (site, n) in looks
            }
            for name, effect in effects.items():
                place = -(names.index(name) + 1 if name in names else 0)
                if effect.low > readings.SMALLEST_FACTOR:
                    colour = COLOURS["green"]
                elif effect.high < 1 / readings.SMALLEST_FACTOR:
                    colour = COLOURS["orange"]
                else:
                    colour = COLOURS["grey"]
                axes.plot([effect.low, effect.high], [place, place], color=colour, lw=2)
                axes.plot(effect.mean, place, "o", color=colour, markersize=5)
            axes.axvline(1, color="#333333", lw=1)
            axes.set_xscale("log")
            axes.set_xticks([0.5, 0.7, 1, 1.4], labels=["0.5", "0.7", "1", "1.4"])
            axes.minorticks_off()
            axes.set_title(words)
        panels[0].set_yticks(
            [-place for place in range(len(names) + 1)], labels=["all pairs", *names]
        )
        panels[0].set_ylim(-len(names) - 0.7, 0.7)
        panels[1].set_xlabel("TVD without / with dropout: right of 1, dropout helps")
        return figure


def _order(part: str) -> tuple[int, int, float, str]:
    """Parts in the order of the splits; numbers by size, thirds from low to high."""
    place, split = next(
        (i, split) for i, split in enumerate(SPLITS) if part.startswith(f"{split} ")
    )
    value = part.removeprefix(f"{split} ")
    third = {"below": 0, "above": 2}.get(value.split()[0], 1)
    try:
        return place, 0, float(value), ""
    except ValueError:
        return place, third, 0.0, value


def pictures(results: Results) -> list[Picture]:
    """The claim's own picture."""
    return [
        Picture(
            as_svg(figure(results)),
            "Twins that differ in one dropout alone: how many times lower TVD beyond the training "
            "length is with it (95 % intervals over pairs, raw weights), over all pairs and over "
            "parts of them. Green: dropout helps; orange: it harms; grey: neither by 5 % for sure. "
            "Of so many parts one or two would stand out by chance alone.",
            "Effects of dropout with intervals, by site and by part of the search",
        )
    ]


SEARCH_DROPOUT = Claim(
    name="whats-missing/search-dropout",
    sentence="Dropout counteracts dispersion: it lowers TVD beyond the training length.",
    source=f"{SOURCE}, attention dispersion",
    experiment=SEARCH,
    evidence=evidence,
    pictures=pictures,
)
