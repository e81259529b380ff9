"""What the report says about coupled positions."""

from collections.abc import Callable

from lengthwise.claims import Drawing, Experiment, Picture, Results, Section, Table
from lengthwise.claims import arms as read
from lengthwise.papers.position_coupling import ARXIV
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.report.lengths import curves_of, draw_by_length
from lengthwise.report.style import Figure, new_panels


def section(title: str) -> Callable[[Results], Section]:
    """An experiment's part of a report."""

    def write(results: Results) -> Section:
        size, recipe = runs.SIZES[results.scale], results.recipe
        return Section(
            title=title,
            introduction=(
                "A small GPT adds two numbers and writes the sum, its last digit first. Coupled "
                "positions give digits of the same significance the same id. Trained on numbers of "
                f"up to {size.trained} digits, tested on up to {size.lengths[-1]}."
            ),
            pictures=[_drawing(results)],
            notes=[
                f"A miniature: {ARXIV} trains width 512 on 30 digits for 50,000 steps of 1000 sums "
                "and tests 200 digits; `--scale paper` runs that. Format, ids, norms before and "
                "after each part, gated MLP and four heads are the paper's.",
                f"Ours at scale '{results.scale}': width {size.width}, {size.steps} steps of "
                f"{size.batch} sums, Adam at {recipe_rate(results):g}, {size.seeds} paired seeds, "
                f"{recipe.test_inputs} test sums per length that training cannot have shown.",
                "The learning rate is the better of 1e-3 and 3e-3 for coupled positions and for "
                "random start on a pilot seed (100). In that pilot, with 3,000 steps, neither "
                "random start nor no positions learned even 5 digits in one layer: at this budget "
                "they fail in range, and what is compared is how far each gets at equal cost, not "
                "extrapolation alone. After the pilot there were fewer ids (31 in place of 61).",
                f"Reach is the longest length up to which at least {runs.LEAST} of the sums are "
                "right as a whole, all shorter ones included; 1 at the least.",
            ],
            tables=[_table(results)],
        )

    return write


def recipe_rate(results: Results) -> float:
    """The learning rate of the first run."""
    return next(iter(results.plan.values())).hyperparameters[0].learning_rate


def lines(results: Results) -> dict[str, read.Line]:
    """How the runs of an experiment are drawn."""
    return {label: runs.LINES[label] for label in results.plan}


def _name(results: Results) -> str:
    """Two experiments may stand on one page."""
    return "sums" if runs.PREDICTIVE not in results.plan else "predicted"


def _table(results: Results) -> Table:
    return read.means_table(
        results, lines(results), runs.MEASURE, _name(results),
        "Sums that are right as a whole, in %, by number of digits: mean and standard deviation "
        "over seeds.",
        "digits",
    )  # fmt: skip


def _draw(results: Results) -> Figure:
    figure, axes = new_panels(7.6, 4.3)
    curves = curves_of(results, lines(results), runs.MEASURE)
    recipe = results.recipe
    draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "sums right")
    axes.set(xlabel="digits", ylim=(-0.02, 1.04))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return figure


def _drawing(results: Results) -> Picture:
    return Drawing(
        _name(results),
        _draw,
        "Sums that are right as a whole by number of digits, mean over seeds with 95 % bands.",
        "Share of right sums by number of digits",
    ).picture(results)


ADDITION = Experiment(
    "position-coupling-addition", runs.plan, section("Coupled positions on addition"),
    shared_runs=runs.SHARED_RUNS,
)  # fmt: skip
