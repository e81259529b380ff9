"""Figure 2: the distribution of single features of the attention output as sets grow."""

import torch

from lengthwise.claims import Finding, Results, estimate
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval.plan import BASELINE, NORM, VARIANTS
from lengthwise.papers.vanishing_variance.retrieval.samples import (
    COMPARED,
    FEATURES,
    claim_per_task,
    samples,
)
from lengthwise.papers.vanishing_variance.retrieval.section import LINES
from lengthwise.report.style import Figure, house_style, new_panels

SMALLEST_FALL = 0.1
"""A variance that falls more slowly than as 1/N^0.1 would hardly matter. Ours."""


def evidence(results: Results, task: str) -> list[Finding]:
    """How fast the features' variance over sets falls: without the norm decides."""
    falls = read.fall(results, task, BASELINE, "feature_variance_before")
    rate = "rate k at which the variance of a feature over sets falls, as 1/N^k"
    return [
        Finding(
            f"{rate}: {VARIANTS[BASELINE].title}",
            estimate(falls, level=results.level),
            SMALLEST_FALL,
        ),
        *(
            Finding(
                f"{rate}: {VARIANTS[NORM].title}, {place} the norm",
                estimate(read.fall(results, task, NORM, f"feature_variance_{place}")),
                SMALLEST_FALL,
                decides=False,
            )
            for place in ("before", "after")
        ),
    ]


@house_style()
def draw(results: Results, task: str) -> Figure:
    """A row per variant, a column per feature."""
    trained = results.recipe.max_train_length
    quantiles = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95])
    figure, grid = new_panels(11.0, 4.6, len(COMPARED), FEATURES, sharex=True, sharey="row")
    for row, variant in zip(grid, COMPARED, strict=True):
        found = samples(results, task, variant)
        lengths = list(found)
        spread = torch.stack([values.quantile(quantiles, 0) for values, _ in found.values()])
        colour = LINES[variant][0]
        for feature, axes in enumerate(row):
            low, lower, middle, upper, high = spread[:, :, feature].T
            axes.fill_between(lengths, low, high, color=colour, alpha=0.18, lw=0)
            axes.fill_between(lengths, lower, upper, color=colour, alpha=0.35, lw=0)
            axes.plot(lengths, middle, color=colour)
            axes.axvline(trained, color="#6b6b6b", lw=0.8, ls=":")
            axes.set_xscale("log", base=2)
            shown = lengths[:: max(1, (len(lengths) - 1) // 2)]
            axes.set_xticks(shown, labels=[f"{n}" for n in shown])
            axes.minorticks_off()
            axes.tick_params(axis="x", labelsize=8)
        row[0].set_ylabel(VARIANTS[variant].title)
    for feature, axes in enumerate(grid[0]):
        axes.set_title(f"feature {feature}")
    for axes in grid[-1]:
        axes.set_xlabel("items")
    return figure


FIGURE_2_ARGMAX, FIGURE_2_DICTIONARY = claim_per_task(
    "figure-2",
    "In a model trained on {task}, the variance of single features of the attention output falls "
    "as its input grows.",
    evidence,
    draw,
    f"The first {FEATURES} features of what the answer is made of, on {{task}}, for the first "
    "seed: median (line), middle half (dark) and middle 90 % (light) over sets, against "
    "the number of items. Above without a norm, below with LayerNorm.",
    "Quantiles of five features against the number of items, {task}",
    place=50,
)
