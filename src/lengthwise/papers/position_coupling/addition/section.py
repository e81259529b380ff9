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
                f"{size.batch} sums, {size.seeds} paired seeds, {recipe.test_inputs} test sums per "
                f"length that training cannot have shown. Adam at {rates(results)}.",
                "Learning rates are the better of 1e-3 and 3e-3 on a pilot seed (100). There, with "
                "6,000 steps, random start and no positions learned 10 digits at neither, and 3 "
                "digits not wholly: what decides is how far each gets at equal cost.",
                f"Reach is the longest length up to which at least {runs.LEAST} of the sums are "
                "right as a whole, all shorter ones included; 1 at the least.",
            ],
            tables=[_table(results)],
        )

    return write


def rates(results: Results) -> str:
    """The learning rates by run, in words."""
    return ", ".join(
        f"{run.hyperparameters[0].learning_rate:g} ({runs.LINES[label].title})"
        for label, run in results.plan.items()
    )


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
