"""What sections on retrieval have in common: introduction, notes, tables and curves of accuracy."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from lengthwise.claims import Drawing, Results, Section, Table, bootstrap, estimate, p_value
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval.plan import BASELINE, NORM, TITLES, VARIANTS
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, house_style, new_figure

LINES = {
    "none": (COLOURS["orange"], "-", "o"),
    "layernorm": (COLOURS["blue"], "-", "s"),
    "standardization": (COLOURS["green"], "-", "^"),
    "rmsnorm": (COLOURS["purple"], "-", "D"),
    "layernorm-before": (COLOURS["blue"], "--", "s"),
    "standardization-before": (COLOURS["green"], "--", "^"),
    "batchnorm": (COLOURS["grey"], "-", "v"),
}


ASKED = {
    "argmax": "the class of the item with the highest priority (argmax retrieval)",
    "dictionary": "the value of the key that is asked for (dictionary lookup)",
}


def section(title: str, tasks: Sequence[str]) -> Callable[[Results], Section]:
    """An experiment's part of a report; the claims bring their own pictures and tables."""

    def write(results: Results) -> Section:
        recipe = results.recipe
        return Section(
            title=title,
            introduction=(
                "A small model with one attention layer reads a set of items and names "
                f"{', or '.join(ASKED[task] for task in tasks)}. It is trained on sets of "
                f"{recipe.min_train_length} to {recipe.max_train_length} items and tested on up to "
                f"{read.lengths(results)[-1]}."
            ),
            pictures=[],
            notes=notes(results),
        )

    return write


def notes(results: Results) -> list[str]:
    """What a reader must know to judge the numbers."""
    recipe = results.recipe
    models = next(iter(results.plan.values())).hyperparameters
    width = recipe.model.width  # type: ignore[attr-defined]
    longest = recipe.test_lengths[-1]
    fewest = min(recipe.test_inputs, (recipe.test_items or 0) // longest)
    return [
        "The tasks, the norm after attention, the lengths and the measures are the paper's; argmax "
        "retrieval, its width, batch, learning rate, weight decay and training sizes are those of "
        "arXiv 2410.01104. Keys of the dictionary (random vectors of length 1, width 16), the "
        "norm's place after W_O, decoupled weight decay, numbers of steps, seeds and test sets, "
        "and the smallest effects that matter are ours.",
        f"Ours at scale '{results.scale}': width {width}, {recipe.steps} steps of "
        f"{recipe.batch} sets, Adam at {models[0].learning_rate:g}, {len(models)} seeds, up to "
        f"{recipe.test_inputs} test sets per length (at {longest} items {fewest}), the same for "
        "all models.",
        "A seed fixes the data, their order and the initial weights that models have in common; "
        "variants are compared within the seed.",
        f"A model counts only if its accuracy at {recipe.max_train_length} items is at least "
        f"{read.LEAST_ACCURACY}; the baseline breaks where its mean accuracy falls below "
        f"{read.LEAST_ACCURACY} of that.",
    ]


def accuracy_tables(results: Results, task: str, variants: Sequence[str], name: str) -> list[Table]:
    """Accuracy by length and variant, and every variant's difference from the baseline."""
    others = [variant for variant in variants if variant != BASELINE]
    means, gains = [], []
    for length in read.lengths(results):
        accuracies = (
            list(read.at_length(results, task, variant, "accuracy", length).values())
            for variant in variants
        )
        means.append([str(length), *map(mean_and_deviation, accuracies)])
        differences = (read.differences(results, task, variant, length) for variant in others)
        gains.append([str(length), *map(gain, differences)])
    return [
        Table(
            f"{name}-accuracy",
            f"Accuracy in % on {TITLES[task]} by number of items: mean and standard deviation over "
            "seeds.",
            ["items", *(VARIANTS[variant].title for variant in variants)],
            means,
        ),
        Table(
            f"{name}-gain",
            f"Difference in accuracy from the baseline on {TITLES[task]}, in points: mean over "
            "paired seeds, 95 % bootstrap interval, and the p-value of a paired t-test.",
            ["items", *(VARIANTS[variant].title for variant in others)],
            gains,
        ),
    ]


def mean_and_deviation(values: Sequence[float]) -> str:
    """Parts of one as a cell in %: mean and standard deviation over seeds."""
    if not values:
        return "diverged"
    deviation = np.std(values, ddof=1) if len(values) > 1 else math.nan
    return f"{100 * np.mean(values):.1f} ± {100 * deviation:.1f}"


def gain(values: Sequence[float]) -> str:
    """Paired differences as a cell in points: mean, bootstrap interval, p-value."""
    if len(values) < 2:
        return "too few learned"
    interval = bootstrap(values)
    return (
        f"{100 * interval.mean:+.1f} ({100 * interval.low:+.1f} to {100 * interval.high:+.1f}), "
        f"p {p_value(values):.2g}"
    )


def accuracy_drawing(name: str, tasks: Sequence[str], variants: Sequence[str]) -> Drawing:
    """Accuracy against the number of items."""
    return Drawing(
        name,
        lambda results: figure_accuracy(results, tasks, variants),
        "Accuracy against the number of items, mean over seeds with 95 % bands. Dotted: a guess.",
        f"Accuracy by number of items on {' and '.join(TITLES[task] for task in tasks)}",
    )


@house_style()
def figure_accuracy(results: Results, tasks: Sequence[str], variants: Sequence[str]) -> Figure:
    """A panel per task, a line per variant."""
    recipe = results.recipe
    figure = new_figure(5.2 * len(tasks) + 1.4, 4.2)
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        curves = {
            VARIANTS[variant].title: Curve(
                read.readings(results, task, variant, "accuracy"), *LINES[variant]
            )
            for variant in variants
        }
        draw_by_length(axes, curves, recipe.max_train_length, read.lengths(results), "accuracy")
        axes.axhline(1 / recipe.task.classes, ls=":", color=COLOURS["grey"], lw=1.2)
        axes.set_ylim(0, 1.02)
        axes.set_title(TITLES[task].capitalize(), pad=20)
        axes.set_xlabel("number of items")
    panels[-1].set_ylabel("accuracy" if len(panels) == 1 else "")
    panels[0].legend(loc="lower left")
    return figure


def steps_drawing(name: str, task: str) -> Drawing:
    """LayerNorm's gain against the number of training steps."""
    return Drawing(
        name,
        lambda results: figure_steps(results, task),
        f"By how many points LayerNorm is above the baseline on {TITLES[task]} where that breaks, "
        "and at four times that length, against the number of training steps: mean over paired "
        "seeds with 95 % bands (Student's t). Readings before the last are on a sixteenth of the "
        "test sets. Dotted: the smallest gain that matters.",
        f"LayerNorm's gain in accuracy by number of training steps on {TITLES[task]}",
    )


@house_style()
def figure_steps(results: Results, task: str) -> Figure:
    """A line per length."""
    figure = new_figure(6.6, 4.0)
    axes = figure.subplots()
    colours = (COLOURS["blue"], COLOURS["purple"])
    for colour, marker, length in zip(
        colours, "os", read.breaking_lengths(results, task), strict=False
    ):
        gains = read.gains_on_the_way(results, task, NORM, length)
        bands = [estimate([100 * gain for gain in by.values()]) for by in gains.values()]
        steps = list(gains)
        axes.plot(
            steps, [one.mean for one in bands], color=colour, marker=marker, label=f"{length} items"
        )
        known = [(step, one) for step, one in zip(steps, bands, strict=True) if one.count > 1]
        axes.fill_between(
            [step for step, _ in known],
            [one.low for _, one in known],
            [one.high for _, one in known],
            color=colour, alpha=0.18, lw=0,
        )  # fmt: skip
    axes.axhline(0, color=COLOURS["grey"], lw=0.8)
    axes.axhline(100 * read.SMALLEST_GAIN, color=COLOURS["grey"], lw=1.2, ls=":")
    axes.set_xscale("log")
    axes.set_xticks(steps, labels=[f"{step:,}" for step in steps])
    axes.minorticks_off()
    axes.set_xlabel("training steps")
    axes.set_ylabel("LayerNorm above the baseline (points)")
    axes.set_title(TITLES[task].capitalize())
    axes.legend(loc="upper left")
    return figure
