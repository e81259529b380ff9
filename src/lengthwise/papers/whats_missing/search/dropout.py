"""Claim: dropout counteracts dispersion, tested on twins that differ in one dropout alone."""

import polars

from lengthwise.claims import Claim, Estimate, Finding, Results, drawing, once
from lengthwise.claims.readings import DEFAULT_EMA, SMALLEST_FACTOR
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.report.intervals import draw_intervals
from lengthwise.report.style import Figure, new_panels

SPLITS = {
    "gaps up to": "largest_gap",
    "extra": "extra_width",
    "steps": "steps",
    "norm": "norm",
    "loss": "loss",
    "learning rate": "learning rate",
    "rate": "dropout rate",
    "other dropout": "other dropout",
    "pairs": "of pairs",
}
"""By which columns the pairs are divided to see where dropout helps, and in words. Ours."""

FEWEST = 8
"""A part of fewer pairs is not shown. Ours."""


def evidence(results: Results) -> list[Finding]:
    """Every site over all pairs, then the part of the pairs that speaks most for dropout."""
    table, looks = readings.trials(results), effects_of_parts(results)

    def finding(effect: str, estimate: Estimate, *, decides: bool = False) -> Finding:
        return Finding(effect, estimate, SMALLEST_FACTOR, decides)

    def of_site(site: str, kind: str) -> Estimate:
        return readings.factor_lower(readings.twins(table, site, kind))

    found = [
        finding(
            f"mean TVD beyond the training length, without / with dropout of the {words}",
            of_site(site, "raw"),
            decides=True,
        )
        for site, words in readings.SITES.items()
    ]
    found += [
        finding(
            f"the same with {DEFAULT_EMA} of both, dropout of the {words}",
            of_site(site, DEFAULT_EMA),
        )
        for site, words in readings.SITES.items()
    ]
    for gap in sorted(table["largest_gap"].unique()):
        found += [
            finding(f"without / with dropout of the {readings.SITES[site]}, {name}", effect)
            for (site, name), effect in looks.items()
            if name == f"gaps up to {gap}"
        ]
    if looks:
        site, name = max(looks, key=lambda key: looks[key].mean)
        found.append(
            finding(
                f"the most favourable of {len(looks)} parts of the pairs (dropout of the "
                f"{readings.SITES[site]}, {name}), with an interval widened for as many looks",
                readings.factor_lower(parts(table)[site, name], looks=len(looks)),
            )
        )
    return found


@once
def effects_of_parts(results: Results) -> dict[tuple[str, str], Estimate]:
    """How many times dropout lowers TVD, by site and part of the pairs."""
    pieces = parts(readings.trials(results))
    return {key: readings.factor_lower(pairs) for key, pairs in pieces.items()}


def parts(table: polars.DataFrame) -> dict[tuple[str, str], polars.DataFrame]:
    """Pairs of twins by dropout site and by each of the splits."""
    found = {}
    for site in readings.SITES:
        other = polars.any_horizontal(polars.col(o) > 0 for o in readings.SITES if o != site)
        # By the better twin, whichever it is, so that neither side is favoured.
        rank = polars.min_horizontal("off", "on").rank("ordinal").over("largest_gap")
        best = rank <= polars.len().over("largest_gap") / 3
        pairs = readings.twins(table, site).with_columns(
            _thirds("learning_rate", (1.7e-3, 5.8e-3)).alias("learning rate"),
            _thirds("rate", (0.1, 0.2)).alias("dropout rate"),
            _either(other, "some", "none").alias("other dropout"),
            _either(best, "of the best third", "of the rest").alias("of pairs"),
        )
        for words, column in SPLITS.items():
            for (value,), part in pairs.group_by(column, maintain_order=True):
                if len(part) >= FEWEST:
                    found[site, f"{words} {value}"] = part
    return found


def _either(condition: polars.Expr, yes: str, no: str) -> polars.Expr:
    return polars.when(condition).then(polars.lit(yes)).otherwise(polars.lit(no))


def _thirds(column: str, bounds: tuple[float, float]) -> polars.Expr:
    """A column in three parts of equal mass under the space's distribution."""
    low, high = bounds
    value = polars.col(column)
    upper = _either(value < high, f"{low:g} to {high:g}", f"above {high:g}")
    return polars.when(value < low).then(polars.lit(f"below {low:g}")).otherwise(upper)


@drawing(
    "dropout",
    "Twins that differ in one dropout alone: how many times lower TVD beyond the training "
    "length is with it (95 % intervals over pairs, raw weights), over all pairs and over "
    "parts of them. Green: dropout helps; orange: it harms; grey: neither by 5 % for sure. "
    "Of so many parts one or two would stand out by chance alone.",
    "Effects of dropout with intervals, by site and by part of the search",
)
def figure(results: Results) -> Figure:
    """The effect of dropout at every site, over all pairs and in every part of them."""
    table, looks = readings.trials(results), effects_of_parts(results)
    names = ["all pairs", *sorted({name for _, name in looks}, key=_order)]
    figure, panels = new_panels(
        9.6, 0.27 * len(names) + 1.3, 1, len(readings.SITES), sharey=True, sharex=True
    )
    for axes, (site, words) in zip(panels, readings.SITES.items(), strict=True):
        whole = {"all pairs": readings.factor_lower(readings.twins(table, site))}
        effects = whole | {name: looks[site, name] for name in names if (site, name) in looks}
        draw_intervals(axes, effects, names, SMALLEST_FACTOR)
        axes.set_xticks([0.5, 0.7, 1, 1.4], labels=["0.5", "0.7", "1", "1.4"])
        axes.minorticks_off()
        axes.set_title(words)
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


SEARCH_DROPOUT = Claim(
    name="whats-missing/search-dropout",
    sentence="Dropout counteracts dispersion: it lowers TVD beyond the training length.",
    source=f"{V1}, attention dispersion",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(figure,),
    place=110,
)
