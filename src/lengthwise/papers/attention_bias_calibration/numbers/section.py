"""What the report says about calibrated biases."""

from collections.abc import Callable

from lengthwise.claims import Drawing, Experiment, Results, Section, Table
from lengthwise.claims import arms as read
from lengthwise.papers.attention_bias_calibration import ARXIV
from lengthwise.papers.attention_bias_calibration.numbers import plan as runs
from lengthwise.report.lengths import curves_of, draw_by_length
from lengthwise.report.style import Figure, new_panels

SAYS = {
    "successor": "writes the number after a number",
    "addition": "adds two numbers",
}


def section(kind: runs.Kind) -> Callable[[Results], Section]:
    """An experiment's part of a report."""

    def write(results: Results) -> Section:
        size, recipe = runs.SIZES[kind][results.scale], results.recipe
        last = size.lengths[-1]
        return Section(
            title=f"Calibrated biases on {kind}",
            introduction=(
                f"A decoder whose cross attention reads the prompt {SAYS[kind]}, the last digit "
                f"first, and is trained on up to {size.trained} digits. Then it is trained anew "
                "with biases that are made of its own attention: diagonals that stand out are "
                "kept, all others are cut. Padded, all numbers have leading zeros up to "
                f"{last + 1} digits, as published; unpadded, a longer number is a longer input."
            ),
            pictures=[_drawing(kind).picture(results)],
            notes=[
                f"A miniature: {ARXIV} trains {runs.PUBLISHED.layers[0]} layers of width 128 on 6 "
                "digits, padded to 61, and tests 60; `--scale paper` runs that.",
                f"Ours at scale '{results.scale}': {size.layers[0]} layers (unpadded "
                f"{size.layers[1]}), {size.heads} heads, width {size.width}, "
                f"{recipe.steps} steps of {recipe.batch} examples in both stages, "
                f"Adam at {size.learning_rate:g}, {size.seeds} paired seeds, {recipe.test_inputs} "
                "test prompts per length that training cannot have shown. As in the authors' code "
                "the prompt is not encoded (no encoder layers), positions are sinusoidal and norms "
                "stand after adding.",
                f"A diagonal of cross attention is kept from {size.cross_deviations[0]:g} "
                f"deviations above the mean on (unpadded {size.cross_deviations[1]:g}), where the "
                "authors have 4.5: among as few diagonals as short inputs have, none can be so far "
                "above. Self attention has their 0.87.",
                "Random diagonals are as many as the calibrated ones, with the same values, at "
                "other distances that the inputs have. The learned bias has a number per head and "
                "distance, in self and in cross attention (T5's without buckets).",
                f"A seed counts only if the plain model gets {runs.LEAST} of its answers right at "
                f"{size.trained} digits; beyond is the mean over the lengths measured after that.",
            ],
            tables=[_table(results, kind, form) for form in runs.FORMS],
        )

    return write


def _lines(form: runs.Form) -> dict[str, read.Line]:
    return {runs.label_of(form, arm): line for arm, line in runs.LINES.items()}


def _table(results: Results, kind: runs.Kind, form: runs.Form) -> Table:
    return read.means_table(
        results, _lines(form), runs.MEASURE, f"{kind}-{form}",
        f"Right answers in %, {kind}, {form}: mean and standard deviation over seeds.", "digits",
    )  # fmt: skip


def _drawing(kind: runs.Kind) -> Drawing:
    def draw(results: Results) -> Figure:
        figure, panels = new_panels(11, 4.2, 1, 2, sharey=True)
        recipe = results.recipe
        for axes, form in zip(panels, runs.FORMS, strict=True):
            curves = curves_of(results, _lines(form), runs.MEASURE)
            draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "")
            axes.set_title(form.capitalize(), pad=20)
            axes.set(xlabel="digits", ylim=(-0.03, 1.05))
        panels[0].set_ylabel("right answers")
        panels[0].legend(loc="lower left")
        return figure

    return Drawing(
        kind,
        draw,
        f"Right answers by number of digits on {kind}, mean over seeds with 95 % bands. Left: "
        "numbers have leading zeros up to the longest. Right: they have none.",
        f"Right answers by digits on {kind}, padded and unpadded, for four kinds of biases",
    )


SUCCESSOR = Experiment(
    "attention-bias-calibration-successor",
    lambda scale: runs.plan("successor", scale),
    section("successor"),
)
ADDITION = Experiment(
    "attention-bias-calibration-addition",
    lambda scale: runs.plan("addition", scale),
    section("addition"),
)
