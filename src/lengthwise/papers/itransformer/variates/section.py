"""The section on variates."""

import numpy as np
import polars

from lengthwise.claims import Experiment, Results, Section, Table, drawing
from lengthwise.papers.itransformer import ARXIV
from lengthwise.papers.itransformer.variates import plan as runs
from lengthwise.papers.itransformer.variates import readings as read
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_panels

LINES = {
    runs.INVERTED: (COLOURS["blue"], "-", "s"),
    runs.ALONE: (COLOURS["orange"], "-", "o"),
    runs.NORM: (COLOURS["green"], "--", "^"),
}

PUBLISHED = {
    runs.ALONE: {"electricity": 0.074, "solar": 0.028},
    runs.INVERTED: {"electricity": 0.048, "solar": 0.024},
}
"""Rise of the MSE from training on all to training on a fifth of the variates, read off Figure 5
for the plain transformer; which of its two groups is which was inferred."""


@drawing(
    "variates",
    "Mean squared error against the number of variates that are read together, drawn from all of "
    "them; mean over seeds with 95 % bands. A panel for each way to train.",
    "Loss by number of variates for three models and three ways to train",
)
def figure_variates(results: Results) -> Figure:
    """A panel per way to train."""
    figure, panels = new_panels(11.0, 4.2, 1, len(runs.TRAINED), sharey=True)
    tested = read.lengths(results)
    for axes, (trained, words) in zip(panels, runs.TRAINED.items(), strict=True):
        curves = {
            made.title: Curve(_frame(read.losses(results, variant, trained)), *LINES[variant])
            for variant, made in runs.VARIANTS.items()
        }
        planned = results.plan[runs.label(runs.INVERTED, trained)].recipe
        draw_by_length(axes, curves, planned.max_train_length, tested, "")
        axes.set_title(f"Trained on {words}", pad=20, fontsize=9.5)
        axes.set_xlabel("variates")
    panels[0].set_ylabel("MSE")
    panels[-1].legend(loc="upper right", fontsize=8)
    return figure


def _frame(losses: dict[int, dict[int, float]]) -> polars.DataFrame:
    rows = [(seed, n, value) for n, found in losses.items() for seed, value in found.items()]
    return polars.DataFrame(rows, schema=["seed", "length", "value"], orient="row")


def table(results: Results) -> Table:
    """Losses on all variates, and their rise beside the published ones."""
    rows = []
    for variant, made in runs.VARIANTS.items():
        means = {one: _mean(read.on_all(results, variant, one)) for one in runs.TRAINED}
        rise = _mean(read.rise(results, variant))
        published = PUBLISHED.get(variant, {})
        rows.append([
            made.title,
            *(f"{means[one]:.3f}" for one in (runs.ALL, runs.FEW, runs.FIFTH)),
            f"{rise:+.3f} ({100 * rise / means[runs.ALL]:+.0f} %)",
            *(f"{published[one]:+.3f}" if published else "" for one in ("electricity", "solar")),
        ])  # fmt: skip
    return Table(
        "rise",
        "Mean squared error on all variates at once by what was trained on, and its rise from all "
        f"variates to a fifth of them. Published: {ARXIV}, other data.",
        ["model", "trained on all", "few of all at a time", "a fifth", "rise, here",
         "rise, electricity", "rise, solar"],
        rows,
    )  # fmt: skip


def _mean(values: dict[int, float]) -> float:
    return float(np.mean(list(values.values())))


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    size = runs.SIZES[results.scale]
    return Section(
        title="More variates, and unseen ones",
        introduction=(
            f"{size.variates} series follow four hidden factors, each with loadings and a lag of "
            "its own. An iTransformer reads them as tokens and continues them. It is trained on "
            f"{size.variates // 5} of them and tested on all; what *more* variates cost is told "
            "apart from what *unseen* ones cost."
        ),
        pictures=[figure_variates.picture(results)],
        notes=[
            "The model and the question are the paper's. The series are made, since its data with "
            "many variates are not packaged; the split into more and unseen is ours. Channel by "
            "channel is the same model without attention between variates, where the paper has a "
            "transformer over times.",
            f"A miniature at scale '{results.scale}': width {size.width}, 2 layers, window "
            f"{size.window}, horizon {size.horizon}, {size.steps} steps of 16 inputs, Adam at "
            f"{runs.RATE:g} for all, {len(size.seeds)} seeds, {size.test_inputs} test inputs per "
            "number of variates, the same for all models. Published sizes: lengthwise reproduce "
            "itransformer --scale paper.",
            "One fifth is drawn (the first variates); the paper has five folds. Seeds differ in "
            "weights and training data, not in which variates are seen, so the intervals say "
            "nothing about other fifths.",
            "Sizes and rate were chosen by a pilot on seed 100 with 500 steps and two rates (1e-3 "
            "and 3e-3, losses within 3 % of one another).",
        ],
        tables=[table(results)],
    )


VARIATES = Experiment("itransformer-variates", runs.plan, section)
