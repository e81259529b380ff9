"""Figure 1: the best metrics of every family of models, ITR and TVD."""

import polars

from lengthwise.claims import Claim, Finding, Results, Table, drawing, every
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.section import SEARCH
from lengthwise.report.style import COLOURS, Figure, new_panels

LIMIT = 5e-4
"""The paper's bound on the ITR of its best models."""

BEST = 5
"""How many models of each gap count as the best ones. Ours."""

FLOOR = 1e-5
"""Where a rate of 0 is drawn on the logarithmic axis."""

READINGS = {"argmax_illegal_beyond": "most probable token", "illegal_mass_beyond": "all mass"}
"""Two readings of the illegal token rate. Ours: the paper gives the name."""


def best_of_families(results: Results) -> polars.DataFrame:
    """The model with the least TVD of every family and largest gap."""
    ordered = readings.trials(results).sort("tvd_beyond", "trial", "kind")
    return ordered.unique(["family", "largest_gap"], keep="first", maintain_order=True)


def tables(results: Results) -> list[Table]:
    """All about the best models, to compute with."""
    best = best_of_families(results).sort("largest_gap", "tvd_beyond")
    first = ["largest_gap", "family", "kind", "tvd_within", "tvd_beyond", *READINGS, "trial"]
    settings = [
        "extra_width",
        "steps",
        "learning_rate",
        "final_lr_fraction",
        "weight_decay",
        "loss",
    ]
    chosen = best.select(*first, *settings, *readings.SITES)
    return [Table.of_frame("best-of-families", "The best model of every family.", chosen)]


def evidence(results: Results) -> list[Finding]:
    """How far below the paper's bound the illegal token rates of the best models lie."""
    single = readings.best_weights(readings.trials(results))
    findings = []
    for column, reading in READINGS.items():
        for gap in sorted(single["largest_gap"].unique()):
            best = readings.part(single, largest_gap=gap).sort("tvd_beyond").head(BEST)
            findings.append(
                Finding(
                    f"{LIMIT:g} - ITR ({reading}) beyond the training length, gaps up to {gap}: "
                    f"every one of the {len(best)} best models",
                    every([LIMIT - value for value in best[column]], "models"),
                    smallest=0.0,
                    decides=column == "argmax_illegal_beyond",
                )
            )
    return findings


@drawing(
    "figure-1",
    "Figure 1: the best model of every family, chosen by mean TVD beyond the training "
    "length, with the illegal token rate of the same model in two readings. Colours are "
    "the largest gap: longest test length minus training length; dashed: the paper's 5e-4; "
    "points at 0 named no illegal token in the test inputs.",
    "Dot plots of TVD and illegal token rate of the best model per family and gap",
)
def figure(results: Results) -> Figure:
    """TVD and ITR of the best model of every family, by gap."""
    best = best_of_families(results)
    order = best.group_by("family").agg(polars.col("tvd_beyond").log().mean()).sort("tvd_beyond")
    names = order["family"].to_list()[::-1]
    gaps = sorted(best["largest_gap"].unique())
    columns = {
        "tvd_beyond": "TVD from the exact answer",
        "argmax_illegal_beyond": "ITR: most probable token",
        "illegal_mass_beyond": "ITR: all mass on illegal tokens",
    }
    figure, panels = new_panels(10.4, 4.9, 1, 3, sharey=True)
    for axes, (column, title) in zip(panels, columns.items(), strict=True):
        for gap, colour, marker in zip(
            gaps, ("green", "blue", "orange", "purple", "grey"), "os^Dv", strict=False
        ):
            rows = readings.part(best, largest_gap=gap)
            axes.plot(
                rows[column].clip(lower_bound=FLOOR),
                [names.index(family) for family in rows["family"]],
                marker, color=COLOURS[colour], markersize=6, label=f"gaps to {gap}",
            )  # fmt: skip
        axes.set(xscale="log", title=title)
        if column != "tvd_beyond":
            axes.axvline(LIMIT, color=COLOURS["grey"], ls="--", lw=1.2)
            axes.set_xlim(FLOOR / 1.8, 1.2)
            axes.set_xticks(
                [FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1], labels=["0", "1e-4", "1e-3", "0.01", "0.1", "1"]
            )
    panels[0].set_yticks(range(len(names)), labels=names)
    panels[0].set_ylim(-0.6, len(names) - 0.4)
    panels[0].legend(loc="lower left", fontsize=8.5)
    return figure


FIGURE_1 = Claim(
    name="whats-missing/figure-1",
    sentence="The best models have an illegal token rate below 5e-4 beyond the training length.",
    source=f"{V1}, figure 1",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(figure,),
    tables=tables,
    place=90,
)
