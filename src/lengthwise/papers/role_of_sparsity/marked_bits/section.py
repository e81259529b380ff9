"""What the report says about marked bits."""

from lengthwise.claims import Experiment, Results, Section, Table, drawing
from lengthwise.claims import arms as read
from lengthwise.papers.role_of_sparsity import ARXIV
from lengthwise.papers.role_of_sparsity.marked_bits import plan as runs
from lengthwise.report.lengths import curves_of, draw_by_length
from lengthwise.report.style import Figure, new_panels


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    size, recipe = runs.SIZES[results.scale], results.recipe
    rate = next(iter(results.plan.values())).hyperparameters[0].learning_rate
    return Section(
        title="Answers that depend on more tokens",
        introduction=(
            "Of many bits k have a mark before them, and a small GPT names the parity of these. "
            f"Trained on up to {size.trained} bits, tested on up to {size.lengths[-1]}. The answer "
            "depends on as many tokens at every length."
        ),
        pictures=[_figure.picture(results)],
        notes=[
            f"A miniature: {ARXIV} tests sparse dependence on synthetic tasks; its sizes are not "
            "known to us, and the form with marks, the positions and all sizes are ours. `--scale "
            "paper` runs larger ones (a GPU).",
            "Half of the heads have linear biases and the others no positions (NAPE): a mark is "
            "found by the token behind it, at any length, and marked bits wherever they stand.",
            "Inputs of training begin with as many bits as are marked: where all count, parity is "
            "learned before marks are.",
            "Chosen after pilots on seed 100. With learned positions from a random start k = 1 was "
            "not learned in 1,000 steps, and k = 2 not in 2,000 with ALiBi either; with NAPE k = 4 "
            "was not tried, as k = 3 was only half learned after 2,000. At k = 1 and 2 nearly "
            "all parities were right up to the longest inputs of the pilots (100 and 60 bits): so "
            "tests go further.",
            f"At scale '{results.scale}': {size.layers} layers, {size.heads} heads, width "
            f"{size.width}, {size.steps} steps of {size.batch} inputs, Adam at {rate:g} for all k, "
            f"{size.seeds} paired seeds, up to {recipe.test_inputs} test inputs per "
            f"length, fewer of long ones ({size.test_items} tokens).",
            f"Reach is the longest length up to which at least {runs.LEAST} of the parities are "
            "right, all shorter ones included. Its fall is the slope of log reach on log k at one "
            "seed, and a seed counts where every k was learned at the longest training length.",
        ],
        tables=[_table(results)],
    )


def _table(results: Results) -> Table:
    return read.means_table(
        results, runs.LINES, runs.MEASURE, "parities",
        "Parities that are right, in %, by number of bits: mean and standard deviation over seeds.",
        "bits",
    )  # fmt: skip


@drawing(
    "parities",
    "Parities of k marked bits that are right, by number of bits, mean over seeds with 95 % bands.",
    "Share of right parities by number of bits for three numbers of marked bits",
)
def _figure(results: Results) -> Figure:
    figure, axes = new_panels(7.6, 4.3)
    curves = curves_of(results, runs.LINES, runs.MEASURE)
    recipe = results.recipe
    draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "parities right")
    axes.axhline(0.5, color="#6b6b6b", lw=1, ls=":")
    axes.set(xlabel="bits", ylim=(0.4, 1.03))
    axes.legend(loc="lower left")
    return figure


MARKED_BITS = Experiment("role-of-sparsity-marked-bits", runs.plan, section)
