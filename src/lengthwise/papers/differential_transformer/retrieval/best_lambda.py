"""Claim: in trained models the best lambda at test grows with the number of items."""

import numpy as np

from lengthwise.claims import Claim, Drawing, Finding, Results, Table, estimate
from lengthwise.papers.differential_transformer import ARXIV
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.papers.differential_transformer.retrieval import readings as read
from lengthwise.papers.differential_transformer.retrieval import sweep
from lengthwise.papers.differential_transformer.retrieval.section import RETRIEVAL
from lengthwise.report.style import COLOURS, Figure, new_panels


def evidence(results: Results) -> list[Finding]:
    """How much the best lambda grows from the training length to where softmax breaks.

    What the best lambda would gain on the learned one is shown; it is chosen and read on the same
    sets, so it is too high by a little.
    """
    trained = results.recipe.max_train_length
    growth, gains = [], []
    for task in runs.TASKS:
        length = read.breaking_lengths(results, task)[0]
        seeds = read.learned(results, task, runs.DIFFERENTIAL)
        swept = sweep.accuracies(results, task)
        grown = sweep.best(swept[length]) - sweep.best(swept[trained])
        growth.append(
            Finding(
                f"best lambda at {length} items above that at {trained}, {runs.TITLES[task]}",
                estimate([grown[seed] for seed in seeds]),
                runs.SMALLEST_GROWTH,
            )
        )
        gained = swept[length].max(-1) - _at_learned(results, task, length)
        gains.append(
            Finding(
                f"accuracy that the best lambda gains on the learned one at {length} items, "
                f"{runs.TITLES[task]}",
                estimate([gained[seed] for seed in seeds]),
                runs.SMALLEST_GAIN,
                decides=False,
            )
        )
    return [*growth, *gains]


def _at_learned(results: Results, task: str, length: int) -> np.ndarray:
    """Accuracy of every model at the lambda of the sweep next to its own."""
    own = np.array(sweep.learned_lambdas(results, task))
    nearest = np.abs(sweep.LAMBDAS - own[:, None]).argmin(-1)
    return sweep.accuracies(results, task)[length][np.arange(len(own)), nearest]


def tables(results: Results) -> list[Table]:
    """Best and learned lambda by number of items."""
    lengths = results.recipe.test_lengths
    rows = []
    for task in runs.TASKS:
        swept = sweep.accuracies(results, task)
        own = sweep.learned_lambdas(results, task)
        best = [_cell(sweep.best(swept[length])) for length in lengths]
        rows.append([runs.TITLES[task], _cell(np.array(own)), *best])
    return [
        Table(
            "best-lambda",
            "The lambda that models learned, and the one with the highest accuracy at test, by "
            "number of items: mean and standard deviation over seeds.",
            ["task", "learned", *(f"best at {length}" for length in lengths)],
            rows,
        )
    ]


def _cell(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"


def draw(results: Results) -> Figure:
    """Accuracy by lambda, a line per number of items, a panel per task."""
    figure, panels = new_panels(11, 4.2, 1, len(runs.TASKS), sharey=True)
    lengths = results.recipe.test_lengths
    shades = np.linspace(0.25, 1.0, len(lengths))
    for axes, task in zip(panels, runs.TASKS, strict=True):
        swept = sweep.accuracies(results, task)
        for length, shade in zip(lengths, shades, strict=True):
            means = swept[length].mean(0)
            axes.plot(
                sweep.LAMBDAS, means, color=COLOURS["blue"], alpha=shade, label=f"{length} items"
            )
            best = means.argmax()
            axes.plot(sweep.LAMBDAS[best], means[best], "o", color=COLOURS["orange"], zorder=3)
        own = float(np.mean(sweep.learned_lambdas(results, task)))
        axes.axvline(own, color=COLOURS["grey"], ls=":", lw=1.2)
        axes.text(own, 1.01, " learned", color=COLOURS["grey"], fontsize=8.5, va="bottom",
                  transform=axes.get_xaxis_transform())  # fmt: skip
        axes.set_title(runs.TITLES[task].capitalize(), pad=20)
        axes.set(xlabel="lambda at test", ylim=(0, 1.02))
    panels[0].set_ylabel("accuracy")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8.5)
    return figure


BEST_LAMBDA = Claim(
    name="differential-transformer/best-lambda",
    sentence=(
        "In a trained model the lambda that retrieves best grows with the number of items: one "
        "that was learned at short inputs takes out too little at long ones."
    ),
    source=f"our derivation for {ARXIV}",
    experiment=RETRIEVAL,
    evidence=evidence,
    tables=tables,
    drawings=(
        Drawing(
            "best-lambda",
            draw,
            "Accuracy of trained models whose lambda is changed at test, mean over seeds; dots "
            "mark the best lambda at each number of items, the dotted line what was learned.",
            "Accuracy by lambda at test, a line per number of items",
        ),
    ),
    place=30,
)
