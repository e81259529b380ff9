"""The section on the grid: shares beside the published ones, and the grid as a picture."""

import numpy as np

from lengthwise.claims import Experiment, Results, Section, Table, drawing
from lengthwise.papers.normalized_attention import ARXIV
from lengthwise.papers.normalized_attention.grid import readings as read
from lengthwise.papers.normalized_attention.grid.plan import MTE, NAP, SIZES, VARIANTS, plan
from lengthwise.report.style import Figure, new_panels

PUBLISHED = {
    NAP: {1: (0.997, 0.976, 0.588), 2: (0.948, 0.868, 0.487)},
    MTE: {1: (1.000, 0.734, 0.438), 2: (0.951, 0.704, 0.412)},
}
"""Best cell, median over cells and share of cells above 0.9, at one and two times the length: means
of five seeds per cell, from the results that the authors keep with their code."""


@drawing(
    "grid",
    "Accuracy on mode over widths (rows) and learning rates (columns), mean over seeds, at the "
    "training length (above) and at twice that (below). Bold: above 0.9.",
    "Accuracy over widths and learning rates for three kinds of attention",
)
def figure_grid(results: Results) -> Figure:
    """A panel per variant and length."""
    size = SIZES[results.scale]
    figure, panels = new_panels(10.4, 4.9, 2, len(VARIANTS), squeeze=False)
    for row, times in zip(panels, (1, 2), strict=True):
        for axes, (variant, made) in zip(row, VARIANTS.items(), strict=True):
            means = read.accuracies(results, variant, times).mean(-1)
            axes.imshow(means, vmin=0, vmax=1, cmap="Blues", aspect="auto")
            for place, value in np.ndenumerate(means):
                good = value > read.GOOD
                axes.text(
                    place[1], place[0], f"{value:.2f}", ha="center", va="center", fontsize=9,
                    color="white" if value > 0.6 else "#333333",
                    fontweight="bold" if good else "normal",
                )  # fmt: skip
            axes.grid(visible=False)
            rates = [f"{0.3**power:.0e}".replace("e-0", "e-") for power in size.powers]
            axes.set_xticks(range(len(rates)), rates if times == 2 else [""] * len(rates))
            axes.set_yticks(range(len(size.widths)), [str(width) for width in size.widths])
            axes.tick_params(length=0, labelsize=8.5)
            axes.set_title(made.title if times == 1 else "")
        row[0].set_ylabel(f"width, {times * size.length} symbols")
    for axes in panels[-1]:
        axes.set_xlabel("learning rate")
    return figure


def table(results: Results) -> Table:
    """Ours beside the published numbers."""
    rows = []
    for variant, made in VARIANTS.items():
        for times in (1, 2):
            means = read.accuracies(results, variant, times).mean(-1)
            ours = (means.max(), np.median(means), read.share_of_cells(results, variant, times))
            published = PUBLISHED.get(variant, {}).get(times)
            theirs = ["", "", ""] if published is None else [f"{one:.3f}" for one in published]
            cells = [f"{one:.3f}" for one in ours]
            pairs = [cell for pair in zip(theirs, cells, strict=True) for cell in pair]
            rows.append([made.title, str(times), *pairs])
    columns = [f"{what}, {who}" for what in ("best cell", "median cell", "share above 0.9")
               for who in ("published", "here")]  # fmt: skip
    caption = (
        "Accuracy on mode over the grid of widths and rates (cells are means over seeds), at one "
        f"and two times the training length. Published: {ARXIV}, 80 cells, 128 symbols; here a "
        "miniature."
    )
    return Table("shares", caption, ["attention", "times the length", *columns], rows)


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    size = SIZES[results.scale]
    return Section(
        title="How many settings learn: the mode of a string",
        introduction=(
            f"Small transformers name the most frequent of {size.symbols} symbols, at "
            f"{len(size.widths)} widths and {len(size.powers)} learning rates. Trained on strings "
            f"of {size.length} symbols, they are tested on that length and on twice it."
        ),
        pictures=[figure_grid.picture(results)],
        notes=[
            "Task, head number, steps at the paper scale, batch, rates 0.3^k, a rate that falls to "
            "0, and what NAP and MTE are, are the paper's. Ours: the answer is read from a last "
            "token of a causal model in place of the first one of an encoder; layers norm their "
            "input first; the rate falls as a cosine; no warm-up and no clipping for any variant.",
            f"A miniature at scale '{results.scale}': {size.layers} layer(s), {size.steps} steps "
            f"of 32 strings, {len(size.seeds)} seeds, {size.test_inputs} test strings per length. "
            "The published size: lengthwise reproduce normalized-attention --scale paper.",
            f"A model is good if its accuracy is above {read.GOOD}. For the verdicts the share of "
            "good models is taken within each seed and compared seed by seed; the table has the "
            "share of cells whose mean over seeds is good, as it was published. A model that "
            "diverged is not good.",
            "Changed after a pilot on seed 100: two layers and ten symbols at width 16 learned too "
            "little in 600 steps (0.70 NAP, 0.55 MTE, 0.43 softmax at the best rate); with one "
            "layer and five symbols all three learn. The largest rate of the paper and its "
            "three smallest are left out.",
        ],
        tables=[table(results)],
    )


GRID = Experiment("normalized-attention-grid", plan, section)
