"""Figure 4: the largest attention weights as sets grow."""

from lengthwise.claims import Finding, Results
from lengthwise.claims.readings import SMALLEST_FACTOR, paired_ratio
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval.plan import BASELINE, NORM, VARIANTS
from lengthwise.papers.vanishing_variance.retrieval.samples import (
    COMPARED,
    EXAMPLES,
    claim_per_task,
    samples,
    shown_lengths,
)
from lengthwise.report.style import Figure, house_style, new_panels

PANELS = 6


def evidence(results: Results, task: str) -> list[Finding]:
    """The largest weight with the norm over that without, seed by seed, where the model breaks."""

    def weight(variant: str, measure: str, length: int) -> dict[int, float]:
        values = read.at_length(results, task, variant, measure, length)
        return {seed: values[seed] for seed in read.learned(results, task, COMPARED)}

    return [
        Finding(
            f"{words}, LayerNorm / baseline, at {length} items",
            paired_ratio(
                weight(NORM, measure, length), weight(BASELINE, measure, length), results.level
            ),
            SMALLEST_FACTOR,
            decides=measure == "largest_weight",
        )
        for measure, words in (
            ("largest_weight", "largest attention weight"),
            ("right_weight", "attention weight on the right item"),
        )
        for length in read.breaking_lengths(results, task)
    ]


@house_style()
def draw(results: Results, task: str) -> Figure:
    """A row per variant, a heat map per length."""
    lengths = shown_lengths(results, PANELS)
    figure, grid = new_panels(10.6, 4.6, len(COMPARED), len(lengths), sharex=True, sharey=True)
    for row, variant in zip(grid, COMPARED, strict=True):
        found = samples(results, task, variant)
        for axes, length in zip(row, lengths, strict=True):
            image = axes.imshow(found[length][1], vmin=0, vmax=1, cmap="magma", aspect="auto")
            axes.set_xticks([0, 15], labels=["1", "16"])
            axes.set_yticks([])
            axes.grid(visible=False)
        row[0].set_ylabel(VARIANTS[variant].title)
    for axes, length in zip(grid[0], lengths, strict=True):
        axes.set_title(f"N = {length}")
    grid[-1][0].set_xlabel("largest weights, in order", loc="left")
    figure.colorbar(image, ax=grid, label="attention weight", fraction=0.03, pad=0.01)
    return figure


FIGURE_4_ARGMAX, FIGURE_4_DICTIONARY = claim_per_task(
    "figure-4",
    "With LayerNorm after attention the attention weights disperse less on {task}.",
    evidence,
    draw,
    f"The 16 largest attention weights (columns, in order) of {EXAMPLES} sets (rows) on {{task}}, "
    "for the first seed, as the number of items N grows. Above without a norm, below with "
    "LayerNorm.",
    "Heat maps of the largest attention weights by number of items, {task}",
    place=70,
)
