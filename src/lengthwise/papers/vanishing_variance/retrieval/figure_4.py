"""Figure 4: the largest attention weights as sets grow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lengthwise.claims import Finding, Picture, Results, estimate
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance.attended import (
    COMPARED,
    EXAMPLES,
    claim_per_task,
    largest_weights,
    shown_lengths,
)
from lengthwise.papers.vanishing_variance.retrieval import BASELINE, NORM, TITLES, VARIANTS
from lengthwise.report.style import as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST_FACTOR = 1.05
"""A largest weight that is higher by less than 5 % would not matter. Ours."""

PANELS = 6


def evidence(results: Results, task: str) -> Sequence[Finding]:
    """The largest weight with the norm over that without, seed by seed, where the model breaks."""
    return [
        Finding(
            f"{words}, LayerNorm / baseline, at {length} items",
            estimate(read.log_ratios(results, task, NORM, BASELINE, measure, length)).exp(),
            SMALLEST_FACTOR,
            decides=measure == "largest_weight",
        )
        for measure, words in (
            ("largest_weight", "largest attention weight"),
            ("right_weight", "attention weight on the right item"),
        )
        for length in read.breaking_lengths(results, task)
    ]


def pictures(results: Results, task: str) -> list[Picture]:
    """The figure with its words."""
    return [
        Picture(
            as_svg(draw(results, task)),
            f"The 16 largest attention weights (columns, in order) of {EXAMPLES} sets (rows) on "
            f"{TITLES[task]}, for seed 0, as the number of items N grows. Above without a norm, "
            "below with LayerNorm.",
            f"Heat maps of the largest attention weights by number of items, {TITLES[task]}",
        )
    ]


def draw(results: Results, task: str) -> "Figure":
    """A row per variant, a heat map per length."""
    lengths = shown_lengths(results, PANELS)
    with house_style():
        figure = new_figure(10.6, 4.6)
        grid = figure.subplots(len(COMPARED), len(lengths), sharex=True, sharey=True)
        for row, variant in zip(grid, COMPARED, strict=True):
            weights = largest_weights(results, task, variant)
            for axes, length in zip(row, lengths, strict=True):
                image = axes.imshow(weights[length], vmin=0, vmax=1, cmap="magma", aspect="auto")
                axes.set_xticks([0, 15], labels=["1", "16"])
                axes.set_yticks([])
                axes.grid(visible=False)
            row[0].set_ylabel(VARIANTS[variant].title)
        for axes, length in zip(grid[0], lengths, strict=True):
            axes.set_title(f"N = {length}")
        grid[-1][0].set_xlabel("largest weights, in order", loc="left")
        figure.colorbar(image, ax=grid, label="attention weight", fraction=0.03, pad=0.01)
        return figure


FIGURE_4 = claim_per_task(
    "figure-4",
    "With LayerNorm after attention the attention weights disperse less on {task}.",
    evidence,
    pictures,
)
