"""The section on remedies: where the model breaks, and what they do."""

import math

import numpy as np
import polars

from lengthwise.claims import Experiment, Results, Section, drawing
from lengthwise.claims.readings import BIAS_POWERS, DEFAULT_BEMA, EMA_POWERS, diverged
from lengthwise.measures.baselines import baseline_of
from lengthwise.papers.whats_missing.remedies import readings
from lengthwise.papers.whats_missing.remedies.plan import plan
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.powers import draw_powers, grid_of_powers
from lengthwise.report.style import COLOURS, Figure, new_figure, new_panels

LINES = {
    "baseline": ("baseline", "raw", COLOURS["orange"], "-", "o"),
    "baseline + BEMA": ("baseline", DEFAULT_BEMA, COLOURS["blue"], "-", "s"),
    "norm after attention": ("norm", "raw", COLOURS["green"], "-", "^"),
    "norm + BEMA": ("norm", DEFAULT_BEMA, COLOURS["purple"], "-", "D"),
}


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    recipe = results.recipe
    return Section(
        title="Where a small transformer breaks, and what mends it",
        introduction=(
            f"A one-layer transformer learns to name a token it has not seen yet, out of "
            f"{recipe.task.classes}. It is trained on inputs of up to {recipe.max_train_length} "
            f"tokens and tested on up to {recipe.task.lengths[-1]}. Attention is a mean, so every "
            "token's share shrinks as the input grows, and beyond the training length the answer "
            "blurs."
        ),
        pictures=[drawing.picture(results) for drawing in DRAWINGS],
        notes=_notes(results),
    )


@drawing(
    "remedies",
    "Total variation distance between the model's answer and the exact one (0 is perfect), "
    "mean over seeds with 95 % bands. Dashed: what the 2/s law leaves of the baseline's "
    "displacement at the training length, if all seen tokens shared it equally: "
    "s / (s + (v - s) exp(2C/s)). Dotted: a guess.",
    "TVD against input length for baseline, BEMA, norm, and norm with BEMA",
)
def figure_remedies(results: Results) -> Figure:
    """TVD against length: baseline, BEMA, norm and both, with the 2/s theory."""
    recipe = results.recipe
    lengths = recipe.task.lengths
    curves = {
        label: Curve(readings.curves(results, run, "tvd", kind), colour, dashes, marker)
        for label, (run, kind, colour, dashes, marker) in LINES.items()
    }
    figure, axes = new_panels(8.2, 4.8)
    guess = baseline_of(recipe.task, "tvd", lengths)
    ylabel = "TVD from the exact answer"
    draw_by_length(axes, curves, recipe.max_train_length, lengths, ylabel, guess)
    axes.plot(
        lengths, theory(results), "--", color=COLOURS["grey"], lw=1.5,
        label="2/s theory for the baseline",
    )  # fmt: skip
    axes.set_ylim(0, 1)
    axes.set_title("Answers beyond the training length", pad=20)
    axes.legend(loc="upper left")
    return figure


def theory(results: Results) -> list[float]:
    """TVD by length if every displacement were 2C/s, with C read off at the training length."""
    recipe = results.recipe
    vocab, strength = recipe.task.classes, _strength(results)
    return [s / (s + (vocab - s) * math.exp(strength / s)) for s in range(1, vocab)]


def _strength(results: Results) -> float:
    """2C: the baseline's displacement at the training length, times that length."""
    length = results.recipe.max_train_length
    displacement = readings.curves(results, "baseline", "displacement")
    at_length = displacement.filter(polars.col("length") == length)
    return float(np.mean(at_length["value"].to_numpy())) * length


@drawing(
    "displacement",
    "How far the logits of seen tokens lie below those of unseen ones. Without a norm the fall "
    "is the theorem's 2C/s, a straight line here.",
    "Displacement against input length on logarithmic axes",
)
def figure_displacement(results: Results) -> Figure:
    """Displacement against length, with and without the norm, and the 2C/s line."""
    recipe = results.recipe
    lengths = recipe.task.lengths
    curves = {
        label: Curve(readings.curves(results, run, "displacement"), colour, dashes, marker)
        for label, (run, kind, colour, dashes, marker) in LINES.items()
        if kind == "raw"
    }
    from matplotlib.ticker import LogLocator

    figure, axes = new_panels(8.2, 4.0)
    draw_by_length(axes, curves, recipe.max_train_length, lengths, "displacement (logits)")
    anchor = _strength(results)
    axes.plot(
        lengths, [anchor / s for s in lengths], "--", color=COLOURS["grey"], lw=1.5,
        label="2C/s through the baseline at the training length",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    shown = [s for s in (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 30, 40, 60) if s in lengths]
    axes.set_xticks(shown, labels=[str(s) for s in shown])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_title("Why: the displacement shrinks", pad=20)
    axes.legend(loc="lower left")
    return figure


@drawing(
    "powers",
    "Mean TVD beyond the training length for every pair of powers, all read out of the same "
    "runs. 'EMA' is the average without bias correction.",
    "Heat maps of TVD by EMA power and bias power",
)
def figure_powers(results: Results) -> Figure:
    """Mean TVD beyond the training length for the whole grid of powers."""
    figure = new_figure(8.2, 3.2)
    for axes, run, title in zip(
        figure.subplots(1, 2), results.plan, ("Baseline", "Norm after attention"), strict=True
    ):

        def mean(kind: str, run: str = run) -> float:
            return float(np.mean(list(readings.beyond(results, run, kind).values())))

        raw, grid = mean("raw"), grid_of_powers(mean, EMA_POWERS, BIAS_POWERS)
        draw_powers(axes, grid, raw / grid, EMA_POWERS, BIAS_POWERS)
        axes.set_title(f"{title}: raw weights {raw:.3f}")
    return figure


DRAWINGS = [figure_remedies, figure_displacement, figure_powers]


def _notes(results: Results) -> list[str]:
    recipe = results.recipe
    one = results.plan["baseline"].hyperparameters[0]
    vocab, extra_width = recipe.task.classes, recipe.model.extra_width  # type: ignore[attr-defined]
    return [
        "The task, the model's form, TVD, the 2/s law, BEMA and its default powers are the "
        "papers'. The paper gives no sizes, optimizer, batch, steps or numbers of seeds: all of "
        "these are ours.",
        f"Ours at scale '{results.scale}': vocabulary {vocab}, training length "
        f"{recipe.max_train_length}, width {vocab - 1 + extra_width}, {recipe.steps} steps of "
        f"{recipe.batch} inputs, AdamW at {one.learning_rate:g} with betas {one.beta1:g} and "
        f"{one.beta2:g}, clipping at {one.grad_clip:g}, loss on the {one.loss} token.",
        "A seed fixes the data, their order and the initial weights of all models that bear it; "
        "models with and without the norm, raw and averaged, are compared within the seed.",
        f"Lengths with at most {recipe.test_inputs} inputs are measured on all of them, longer "
        f"ones on {recipe.test_inputs} drawn inputs, the same for every model.",
        "Models that diverged: "
        + ", ".join(f"{diverged(one)} of the {label} run" for label, one in results.tables.items())
        + "; they are left out.",
    ]


REMEDIES = Experiment("set-complement-remedies", plan, section)
