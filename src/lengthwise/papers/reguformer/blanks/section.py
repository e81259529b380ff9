"""The section on blanked intervals."""

import numpy as np
import polars

from lengthwise.claims import Experiment, Results, Section, Table, drawing, estimate
from lengthwise.papers.reguformer.blanks import plan as runs
from lengthwise.papers.reguformer.blanks import readings as read
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_panels

LINES = {
    runs.FULL: (COLOURS["orange"], "-", "o"),
    runs.TOP: (COLOURS["blue"], "-", "s"),
    runs.RAND: (COLOURS["green"], "--", "^"),
}


@drawing(
    "blanked",
    "Accuracy of naming whether two intervals are of the same well, mean over seeds with 95 % "
    "bands. Left: a part of every interval is blanked. Right: whole intervals of other lengths.",
    "Accuracy by blanked part and by length for full attention and two selections",
)
def figure_blanked(results: Results) -> Figure:
    """Blanks left, lengths right."""
    size = runs.SIZES[results.scale]
    figure, (left, right) = new_panels(10.4, 4.1, 1, 2)
    for variant, title in runs.TITLES.items():
        colour, dashes, marker = LINES[variant]
        found = [estimate(list(one.values())) for one in read.blanked(results, variant).values()]
        parts = [100 * part for part in runs.BLANKED]
        left.plot(
            parts, [one.mean for one in found], dashes, color=colour, marker=marker,
            markersize=4.5, label=title,
        )  # fmt: skip
        low, high = [one.low for one in found], [one.high for one in found]
        left.fill_between(parts, low, high, color=colour, alpha=0.18, lw=0)
    left.set(xlabel="blanked, %", ylabel="accuracy", ylim=(0.45, 1.0))
    curves = {
        title: Curve(_frame(read.by_length(results, variant)), *LINES[variant])
        for variant, title in runs.TITLES.items()
    }
    draw_by_length(right, curves, size.length, results.recipe.test_lengths, "")
    right.set(xlabel="steps of an interval", ylim=(0.45, 1.0))
    left.legend(loc="lower left")
    return figure


def _frame(found: dict[int, dict[int, float]]) -> polars.DataFrame:
    rows = [(seed, n, value) for n, own in found.items() for seed, value in own.items()]
    return polars.DataFrame(rows, schema=["seed", "length", "value"], orient="row")


def table(results: Results) -> Table:
    """Accuracy by blanked part."""
    rows = [
        [title, *(f"{100 * np.mean(list(one.values())):.1f}"
                  for one in read.blanked(results, variant).values())]
        for variant, title in runs.TITLES.items()
    ]  # fmt: skip
    return Table(
        "blanked",
        "Accuracy in % at the training length by blanked part of every interval, mean over seeds.",
        ["attention", *(f"{100 * part:.0f} %" for part in runs.BLANKED)],
        rows,
    )


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    size = runs.SIZES[results.scale]
    return Section(
        title="Blanked intervals, and other lengths",
        introduction=(
            f"Two intervals of {size.length} steps are encoded, and the model names whether they "
            "come from the same well. In tests a run of steps of either interval is blanked, or "
            "intervals are shorter and longer than in training."
        ),
        pictures=[figure_blanked.picture(results)],
        notes=[
            "The selection of queries and keys and the blanks are the paper's. The wells are made "
            "(AR(2) processes with parameters of each well), since its packaged data are too "
            "small; how two encodings are compared, and tests at other lengths, are ours. The "
            "authors' code is corrected in what the remedy `reguformer` names.",
            f"A miniature at scale '{results.scale}': {size.wells} wells, {size.channels} "
            f"channels, one layer of width {size.width}, {size.steps} steps of 32 pairs, Adam at "
            f"{runs.RATE:g} for all, {len(size.seeds)} seeds, {size.test_inputs} test pairs. "
            "The paper's length and channels: lengthwise reproduce reguformer --scale paper.",
            "The rate was chosen by a pilot of full attention on seed 100 (800 steps; 0.73 at "
            "1e-3, 0.88 at 3e-3), so the baseline had the better of two rates and the selections "
            "were given the same one.",
            f"A model counts only if its accuracy on whole intervals of {size.length} steps is at "
            f"least {read.LEAST_ACCURACY}. The published figures (ROC AUC 0.970 against 0.967 of "
            "full attention in the journal version) are of other data and another measure.",
        ],
        tables=[table(results)],
    )


BLANKS = Experiment("reguformer-blanks", runs.plan, section)
