"""What the report says about differential attention in set readers."""

from typing import Any

from lengthwise.claims import Drawing, Experiment, Results, Section, Table
from lengthwise.claims import arms as read
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.papers.differential_transformer import ARXIV
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.report.lengths import curves_of, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_figure

PUBLISHED = {
    runs.SOFTMAX: "3.087",
    runs.SOFTMAX_NORM: "3.086",
    runs.DIFFERENTIAL: "3.062",
    runs.NO_NORM: "3.122",
}
"""Loss of language models of 1.4 billion weights in the paper's ablation."""


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe, arms = results.recipe, runs.ARMS.items()
    models = results.plan[runs.label("argmax", runs.SOFTMAX)].hyperparameters
    rates = "; ".join(
        f"{title}: "
        + ", ".join(f"{arm.line.title} {runs.RATES[task][name]:g}" for name, arm in arms)
        for task, title in runs.TITLES.items()
    )
    return Section(
        title="Differential attention in set readers",
        introduction=(
            "A small model with one attention layer reads a set and names the class of one item. "
            "Its attention is softmax with two heads, or one head that takes the difference of two "
            f"maps. Trained on {recipe.min_train_length} to {recipe.max_train_length} items and "
            f"tested on up to {recipe.test_lengths[-1]}."
        ),
        pictures=[_DRAWING.picture(results)],
        notes=[
            f"A miniature: {ARXIV} trains language models of up to 13 billion weights and finds "
            "several needles in contexts of up to 64K tokens. `--scale paper` trains these set "
            "readers at the width, steps and seeds of arXiv 2410.01104; no scale trains the "
            "paper's language models.",
            f"Ours at scale '{results.scale}': width {runs.SIZES[results.scale].width}, "
            f"{recipe.steps} steps of {recipe.batch} sets, {len(models)} seeds, up to "
            f"{recipe.test_inputs} test sets per length, the same for all. A seed fixes the data, "
            "their order and the initial weights that arms have in common.",
            "Learning rates, each the best of 3e-4, 1e-3 and 3e-3 by accuracy beyond 16 items "
            f"after 2,000 steps on two pilot seeds (100, 101): {rates}. In that pilot "
            "differential attention at its best rate was not above softmax at its best; steps were "
            "then doubled for all.",
            f"A model counts only if its accuracy at {recipe.max_train_length} items is at least "
            f"{runs.LEAST_ACCURACY}; softmax breaks where its mean accuracy falls below "
            f"{runs.LEAST_ACCURACY} of that. Gains are read there and at {runs.BEYOND} times that "
            "length.",
            "The norm per head of plain softmax is a LayerNorm per head before W_O; that of "
            "differential attention is an RMSNorm that heads share. With one head the two differ "
            "in the mean alone.",
        ],
        tables=[_sizes(results), *(_accuracy(results, task) for task in runs.TASKS)],
    )


def _sizes(results: Results) -> Table:
    rows = []
    for name, arm in runs.ARMS.items():
        counts = [
            sum(
                one.numel()
                for one in results.plan[runs.label(task, name)]
                .recipe.build(Hyperparameters())
                .parameters()
            )
            for task in runs.TASKS
        ]
        rows.append([arm.line.title, *map(str, counts), PUBLISHED.get(name, "")])
    return Table(
        "sizes",
        "Weights of every arm, and the loss that the paper reports for language models of 1.4 "
        "billion weights.",
        ["arm", *(f"weights, {title}" for title in runs.TITLES.values()), "loss, published"],
        rows,
    )


def _accuracy(results: Results, task: str) -> Table:
    return read.means_table(
        results, _lines(task), "accuracy", f"accuracy-{task}",
        f"Accuracy in % on {runs.TITLES[task]} by number of items: mean and standard deviation "
        "over seeds.",
        "items",
    )  # fmt: skip


def _lines(task: str) -> dict[str, read.Line]:
    return {runs.label(task, name): arm.line for name, arm in runs.ARMS.items()}


def _draw(results: Results) -> Figure:
    """A panel per task, a line per arm."""
    recipe = results.recipe
    figure = new_figure(11, 4.2)
    panels: Any = figure.subplots(1, len(runs.TASKS), sharey=True)
    for axes, task in zip(panels, runs.TASKS, strict=True):
        curves = curves_of(results, _lines(task), "accuracy")
        draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "")
        axes.axhline(1 / recipe.task.classes, ls=":", color=COLOURS["grey"], lw=1.2)
        axes.set_ylim(0, 1.02)
        axes.set_title(runs.TITLES[task].capitalize(), pad=20)
        axes.set_xlabel("number of items")
    panels[0].set_ylabel("accuracy")
    panels[0].legend(loc="lower left", fontsize=9)
    return figure


_DRAWING = Drawing(
    "retrieval",
    _draw,
    "Accuracy against the number of items, mean over seeds with 95 % bands. Dotted: a guess.",
    "Accuracy by number of items of softmax and differential attention",
)

RETRIEVAL = Experiment("differential-retrieval", runs.plan, section)
